/**
 * Watches the items of mixed tables: at every change that a commit replaces nothing but what it was
 * voted onto, and when all is over that nothing is left of any transaction but what it wrote
 * (docs/adr/0014-native-operations.md).
 */
import {
  fenceOf,
  identityOf,
  isMarked,
  sameIdentity,
  type Identity,
} from "../../core/item-identity.ts";
import type { Item, LogBlock, Stamp } from "../../core/types.ts";
import { historyKey, historyVersion } from "../../testing/history/key-text.ts";
import type { TestTable } from "../../testing/deployment-options.ts";
import type { LoggedWrite } from "./logged-writes.ts";
import type { StoredChange } from "./store-judge.ts";

/** From this change on, and up to the next one of the item. */
type State = {
  readonly change: number;
  readonly stored: Item | undefined;
  readonly identity: Identity;
};

type Voted = LoggedWrite & { readonly stamp: Stamp };

const findingsMax = 20;

export class MixedStoreJudge {
  readonly findings: string[] = [];
  readonly #tables: ReadonlyMap<string, TestTable>;
  readonly #states = new Map<string, State[]>();
  #changes = 0;

  constructor(tables: readonly TestTable[]) {
    this.#tables = new Map(tables.map((table) => [table.name, table]));
  }

  get isNeeded(): boolean {
    return this.#tables.size > 0;
  }

  /** Changes of all tables, the log's and control's too, since they are counted. */
  observe({ table: name, before, after }: StoredChange): void {
    this.#changes += 1;
    const table = this.#tables.get(name);
    const item = after ?? before;
    if (table === undefined || item === undefined) return;
    const key = historyKey(table, item);
    const states = this.#states.get(key) ?? [];
    this.#states.set(key, states);
    states.push({ change: this.#changes, stored: after, identity: identityOf(after) });
  }

  /** When faults are over and house was kept. */
  judgeEnd(): void {
    for (const [key, states] of this.#states) {
      const stored = states.at(-1)?.stored;
      if (stored === undefined) continue;
      const fence = fenceOf(stored);
      if (fence !== undefined) this.#found(`a fence of ${fence} is left on ${key}`);
      if (isMarked(stored)) this.#found(`a placeholder is left under ${key}`);
    }
  }

  /** Of one log. */
  judgeOpen(blocks: readonly LogBlock[]): void {
    const open = new Set<string>();
    for (const verdict of blocks.flatMap(({ verdicts }) => verdicts)) {
      if (verdict.kind === "prepared") open.add(verdict.id);
      else if (verdict.kind === "committed" || verdict.kind === "aborted") open.delete(verdict.id);
    }
    for (const id of open) this.#found(`liveness: ${id} is prepared, and nobody has decided it`);
  }

  /**
   * Of each commit by vote: it was put over its stamp and over nothing else, and once the watermark
   * has passed it, its stamp stands nowhere.
   * @param claimOf the change with which its log's watermark came to it.
   */
  judgeInstalls(
    writes: readonly LoggedWrite[],
    claimOf: (write: LoggedWrite) => number | undefined,
  ): void {
    for (const write of writes) {
      const { table: described, key, timestamp, stamp } = write;
      const table = this.#tables.get(described.name);
      if (table === undefined) continue;
      const name = historyKey(table, key);
      if (stamp === undefined) {
        this.#found(`${name} was committed at ${timestamp.toString()} without a stamp`);
        continue;
      }
      const states = this.#states.get(name) ?? [];
      this.#judgePut(name, states, { ...write, stamp });
      const claim = claimOf(write);
      if (claim !== undefined) this.#judgeClaim(name, states, { ...write, stamp, claim });
    }
  }

  #judgePut(name: string, states: readonly State[], { item, timestamp, ...voted }: Voted): void {
    const version = historyVersion(item);
    if (typeof version !== "string") return;
    const at = states.findIndex(({ stored }) => historyVersion(stored) === version);
    const before = states[at - 1];
    if (at < 0 || (before !== undefined && awaits(before, voted))) return;
    this.#found(
      `I10: ${timestamp.toString()} was installed at ${name} over another state than it was ` +
        `voted onto: over one with ${before?.identity.kind ?? "nothing"}`,
    );
  }

  #judgeClaim(
    name: string,
    states: readonly State[],
    { timestamp, claim, ...voted }: Voted & { readonly claim: number },
  ): void {
    const atClaim = states.findLast(({ change }) => change < claim);
    const since = states.filter(({ change }) => change >= claim);
    const all = atClaim === undefined ? since : [atClaim, ...since];
    if (!all.some((state) => awaits(state, voted))) return;
    this.#found(`I7: the watermark has passed ${timestamp.toString()}, and ${name} waits for it`);
  }

  #found(finding: string): void {
    if (this.findings.length < findingsMax) this.findings.push(finding);
  }
}

/** Whether an install would be made there: with its fence, on the state that it was voted onto. */
function awaits({ stored, identity }: State, { id, stamp }: Pick<Voted, "id" | "stamp">): boolean {
  return stored !== undefined && fenceOf(stored) === id && sameIdentity(identity, stamp);
}
