/**
 * Whether what one that waits keeps free is kept free: as the log has it, nobody else reserves it,
 * and no BASE transaction begins with it, within half of the time for which the reservation stands
 * wherever it is seen. When a commit was put the stores tell, since its timestamp may lie ahead.
 *
 * A first step waits for so long and no longer: one that may have done so is let pass.
 */
import * as limits from "../../core/limits.ts";
import type { Item, TransactionId, Verdict } from "../../core/types.ts";
import { textOf } from "../../engine/base/attributes.ts";
import { baseOfRecord, toHead, toStep, type BaseHead } from "../../engine/base/record.ts";
import { toWriteLock, unreserved, type WriteLock } from "../../engine/base/saline-locks.ts";
import type { LoggedWrite } from "../judges/logged-writes.ts";

/** A commit over several shards is put with several blocks. */
type Put = { readonly firstMs: number; readonly lastMs: number };
/** By the commit of its first step. */
type Begun = { readonly base: string; readonly head: BaseHead };
type Standing = WriteLock["reservation"] & { readonly sinceMs: number };

/** The other half is for clocks that drift. */
const judgedMs = limits.baseReserveMs / 2;
const patienceMs = 0.8 * limits.baseStepPatienceMs;
const patienceInAllMs = 0.8 * limits.baseStepPatienceInAllMs;
const locksPrefix = "written#";
const recordPrefix = "base#";

export class ReservationJudge {
  readonly findings: string[] = [];
  readonly #puts = new Map<TransactionId, Put>();
  /** By whom: when he first reserved anything. */
  readonly #beganMs = new Map<string, number>();

  stands(
    { verdicts }: { readonly verdicts: readonly Pick<Verdict, "kind" | "id">[] },
    nowMs: number,
  ): void {
    for (const { kind, id } of verdicts) {
      if (kind !== "committed") continue;
      const { firstMs } = this.#puts.get(id) ?? { firstMs: nowMs };
      this.#puts.set(id, { firstMs, lastMs: nowMs });
    }
  }

  /** @param writes all of the records table. */
  read(writes: readonly LoggedWrite[]): void {
    const inOrder = writes.toSorted((a, b) => a.timestamp - b.timestamp);
    const locks = inOrder.filter(({ key }) => textOf(key, "pk").startsWith(locksPrefix));
    for (const { item, id } of locks) {
      const { by } = reservationOf(item);
      const { firstMs } = this.#putOf(id);
      this.#beganMs.set(by, Math.min(this.#beganMs.get(by) ?? firstMs, firstMs));
    }
    const begun = firstSteps(writes);
    const standing = new Map<string, Standing>();
    for (const { key, item, id } of locks) {
      const name = `${textOf(key, "pk")} ${textOf(key, "sk")}`;
      const before = standing.get(name);
      if (before !== undefined) this.#judge(name, before, { item, id, begun: begun.get(id) });
      const { by, untilMs } = reservationOf(item);
      if (by === "") standing.delete(name);
      else if (before?.by !== by || before.untilMs !== untilMs) {
        standing.set(name, { by, untilMs, sinceMs: this.#putOf(id).firstMs });
      }
    }
  }

  #judge(
    name: string,
    { by, sinceMs }: Standing,
    { item, id, begun }: Pick<LoggedWrite, "item" | "id"> & { readonly begun: Begun | undefined },
  ): void {
    const { lastMs } = this.#putOf(id);
    const ageMs = lastMs - sinceMs;
    if (ageMs >= judgedMs) return;
    const text = `BASE: ${name} was kept free by ${by} for ${ageMs.toFixed(0)} ms`;
    const other = reservationOf(item).by;
    if (other !== "" && other !== by) this.findings.push(`${text}, then by ${other}`);
    if (begun === undefined) return;
    const { base, head } = begun;
    const hasPatience =
      lastMs - (this.#beganMs.get(by) ?? sinceMs) < patienceMs &&
      head.lastMs - head.startedMs < patienceInAllMs;
    if (hasPatience) this.findings.push(`${text}, and ${base} began with it`);
  }

  #putOf(id: TransactionId): Put {
    return this.#puts.get(id) ?? { firstMs: 0, lastMs: Number.POSITIVE_INFINITY };
  }
}

function reservationOf(item: Item | undefined): WriteLock["reservation"] {
  return item === undefined ? unreserved : toWriteLock(item).reservation;
}

function firstSteps(writes: readonly LoggedWrite[]): ReadonlyMap<TransactionId, Begun> {
  const records = writes.filter(({ key }) => textOf(key, "pk").startsWith(recordPrefix));
  const ids = new Set(
    records.flatMap(({ item, id }) => (item && toStep(item)?.number === 1 ? [id] : [])),
  );
  const begun = new Map<TransactionId, Begun>();
  for (const { item, id } of records) {
    if (!ids.has(id) || item === undefined || toStep(item) !== undefined) continue;
    begun.set(id, { base: baseOfRecord(item), head: toHead(item) });
  }
  return begun;
}
