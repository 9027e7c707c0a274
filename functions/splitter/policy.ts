/** When to split, as the function's environment says it: checked once, at its start. */
import { InvalidRequestError } from "../../core/errors.ts";
import { splitPolicyBounds, splitPolicyOf, type SplitPolicy } from "../../core/split-policy.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** The variable of each setting: `shardsMax` is TIDEMARK_SPLIT_SHARDS_MAX. */
export function splitVariable(setting: string): string {
  return `TIDEMARK_SPLIT_${setting.replaceAll(/[A-Z]/g, (each) => `_${each}`).toUpperCase()}`;
}

/** @throws RangeError naming the variable that is wrong, and what it takes. */
export function readSplitPolicy(variables: Variables): SplitPolicy {
  const settings = Object.keys(splitPolicyBounds).flatMap((setting) => {
    const text = variables[splitVariable(setting)];
    return text === undefined ? [] : [[setting, /^\d+$/.test(text) ? Number(text) : text]];
  });
  try {
    return splitPolicyOf(Object.fromEntries(settings) as Partial<SplitPolicy>);
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    throw new RangeError(`${splitVariable(error.field)}: ${error.message}`, { cause: error });
  }
}
