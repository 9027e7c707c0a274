/** What a commit says of BASE transactions, by what it puts into their table. */
import { baseExpiryAttribute } from "../../core/base-tables.ts";
import { CorruptDataError } from "../../core/errors.ts";
import type { Item } from "../../core/types.ts";
import { baseOfState, toState } from "../base/base-state.ts";
import { baseOfRecord, toStep } from "../base/record.ts";

/** It is the commit of that step. */
export type StepSign = { readonly base: string; readonly number: number };

export type BaseSigns = {
  readonly step: StepSign | undefined;
  /** From this commit on all see what these have done. */
  readonly released: readonly string[];
};

export function baseSigns(records: readonly Item[]): BaseSigns {
  const signs = records.map(signOf);
  return {
    step: signs.find((sign) => sign?.kind === "step"),
    released: signs.flatMap((sign) => (sign?.kind === "released" ? [sign.base] : [])),
  };
}

type Sign =
  | { readonly kind: "released"; readonly base: string }
  | ({ readonly kind: "step" } & StepSign);

/** Undefined: it says neither, or nothing of Tidemark has written it. */
function signOf(item: Item): Sign | undefined {
  // What is over is put again, so that it expires.
  if (item[baseExpiryAttribute] !== undefined) return undefined;
  try {
    const base = baseOfState(item);
    if (base !== undefined) {
      return toState(base, item).phase === "released" ? { kind: "released", base } : undefined;
    }
    const step = toStep(item);
    return step && { kind: "step", base: baseOfRecord(item), number: step.number };
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}
