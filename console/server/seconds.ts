/** What the logs decided in each of the last seconds, by the protocol's own timestamps. Pure. */
import type { LogBlock, Timestamp, TransactionId } from "../../core/types.ts";
import { isProvisioning, wayOf } from "../../inspection/tally.ts";
import * as limits from "../limits.ts";
import type { Second } from "../wire.ts";

type Counts = { -readonly [Name in keyof Second]: Second[Name] };

export class Seconds {
  readonly #bins = new Map<number, Counts>();
  readonly #changed = new Set<number>();
  /** Of transactions over several shards: each of their logs tells of them. */
  readonly #parts = new Set<TransactionId>();

  add(block: LogBlock): void {
    if (isProvisioning(block)) return;
    for (const verdict of block.verdicts) {
      // What decides nothing has no time of its own.
      const at = "timestamp" in verdict ? verdict.timestamp : block.throughTimestamp;
      const isNew = !this.#parts.has(verdict.id);
      switch (verdict.kind) {
        case "committed": {
          const way = wayOf(verdict, block.maker !== undefined);
          if (way === "part" && isNew) this.#remember(verdict.id);
          if (way !== "part" || isNew) this.#bin(at)[way] += 1;
          break;
        }
        case "aborted":
          if (!isNew) break;
          this.#remember(verdict.id);
          this.#bin(at)[verdict.reason.kind === "conflict" ? "conflicts" : "otherAborts"] += 1;
          break;
        case "stale":
        case "busy":
          this.#bin(at).again += 1;
          break;
        case "prepared":
          break;
      }
    }
  }

  lag(nowMs: number, lagMs: number): void {
    this.#bin((nowMs * 1_000) as Timestamp).lagMs = Math.round(lagMs);
  }

  /** Those that have changed since the last call, in order. */
  changes(nowMs: number): readonly Second[] {
    this.#prune(nowMs);
    const found = [...this.#changed]
      .sort((a, b) => a - b)
      .flatMap((at) => this.#bins.get(at) ?? []);
    this.#changed.clear();
    return found.map((each) => ({ ...each }));
  }

  all(nowMs: number): readonly Second[] {
    this.#prune(nowMs);
    return [...this.#bins.values()].sort((a, b) => a.at - b.at).map((each) => ({ ...each }));
  }

  #bin(timestamp: Timestamp): Counts {
    const at = Math.floor(timestamp / 1_000_000);
    this.#changed.add(at);
    const known = this.#bins.get(at);
    if (known !== undefined) return known;
    const none = {
      express: 0,
      stream: 0,
      vote: 0,
      part: 0,
      conflicts: 0,
      otherAborts: 0,
      again: 0,
    };
    const made: Counts = { at, ...none };
    this.#bins.set(at, made);
    return made;
  }

  #prune(nowMs: number): void {
    const oldest = Math.floor(nowMs / 1_000) - limits.secondsKept;
    for (const at of this.#bins.keys()) {
      if (at >= oldest) continue;
      this.#bins.delete(at);
      this.#changed.delete(at);
    }
  }

  #remember(id: TransactionId): void {
    this.#parts.add(id);
    if (this.#parts.size <= limits.partIdsKept) return;
    const [oldest] = this.#parts;
    if (oldest !== undefined) this.#parts.delete(oldest);
  }
}
