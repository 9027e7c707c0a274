/**
 * The checker: judges the history of a random workload, naively, from the log's blocks and from
 * what clients and samplers have seen (docs/protocol.md §10, I1 to I8). It returns what is wrong,
 * each complaint beginning with its invariant.
 */
import { isDecision } from "../../core/decision.ts";
import { keyNamesOf } from "../../core/attributes.ts";
import type {
  CommittedVerdict,
  Isolation,
  Item,
  KeyHash,
  LogBlock,
  TableDescription,
  TransactionId,
} from "../../core/types.ts";
import { itemIdentity } from "../../engine/attempts/write-buffer.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { historyAttribute } from "../../testing/history/key-text.ts";

export type KeyOf = { readonly table: TableDescription; readonly key: Item };

/** What one transaction did, as its client knows it. */
export type Performed = {
  /** Undefined for one that committed nothing. */
  readonly id: TransactionId | undefined;
  readonly isolation: Isolation;
  readonly readTimestamp: number;
  readonly reads: readonly (KeyOf & { readonly item: Item | undefined })[];
  readonly queries: readonly {
    readonly table: TableDescription;
    readonly partition: Item[string];
    readonly rows: readonly Item[];
  }[];
  readonly writes: readonly (KeyOf & { readonly item: Item | undefined })[];
};

/** The watermark, and what the tables held a moment later. */
export type Sample = {
  readonly watermark: number;
  readonly versions: ReadonlyMap<KeyHash, number>;
};

export type History = {
  /** Under the shard's secret. */
  readonly hashes: KeyHashes;
  readonly blocks: readonly LogBlock[];
  readonly performed: readonly Performed[];
  readonly samples: readonly Sample[];
  /** The tables at the end. */
  readonly final: readonly (KeyOf & { readonly item: Item | undefined })[];
};

export function complaints(history: History): string[] {
  const commits = history.blocks
    .flatMap(({ verdicts }) => verdicts)
    .filter((verdict) => verdict.kind === "committed");
  const all = [
    ...judgeLog(history.blocks),
    ...judgeConflicts(history, commits),
    ...judgeStates(history, commits),
    ...judgeSamples(history.samples, commits),
  ];
  // Of each invariant a few: the first shows what is wrong, and thousands hide it.
  const counts = new Map<string, number>();
  return all.filter((complaint) => {
    const invariant = complaint.slice(0, 2);
    const count = (counts.get(invariant) ?? 0) + 1;
    counts.set(invariant, count);
    return count <= 3;
  });
}

function judgeLog(blocks: readonly LogBlock[]): string[] {
  const found: string[] = [];
  const decided = new Set<TransactionId>();
  let last = blocks[0]?.previousTimestamp ?? 0;
  blocks.forEach((block, i) => {
    if (block.position !== i + 1) found.push(`I1: position ${block.position} after ${i}`);
    if (block.previousTimestamp !== last) found.push(`I2: block ${block.position} does not follow`);
    for (const verdict of block.verdicts) {
      if (!isDecision(verdict)) continue;
      if (verdict.timestamp <= last) found.push(`I2: ${verdict.timestamp} after ${last}`);
      last = verdict.timestamp;
      if (decided.has(verdict.id)) found.push(`I3: ${verdict.id} is decided twice`);
      decided.add(verdict.id);
    }
    last = block.throughTimestamp;
  });
  return found;
}

function judgeConflicts(
  { performed, hashes }: History,
  commits: readonly CommittedVerdict[],
): string[] {
  const found: string[] = [];
  const hashOf = ({ table, key }: KeyOf): KeyHash => hashes.item(keyNamesOf(table), key).key;
  const byId = new Map(commits.map((commit) => [commit.id, commit]));
  for (const each of performed) {
    if (each.id === undefined) continue;
    const own = byId.get(each.id);
    if (own === undefined) {
      found.push(`I9: ${each.id} was acknowledged and is not in the log`);
      continue;
    }
    const checked = new Set<KeyHash>(
      each.isolation === "snapshot"
        ? each.writes.map(hashOf)
        : [
            ...each.reads.map(hashOf),
            ...each.queries.map(({ table, partition }) => hashes.partition(table.name, partition)),
          ],
    );
    const invariant = each.isolation === "snapshot" ? "I5" : "I4";
    for (const other of commits) {
      if (other.timestamp <= each.readTimestamp || other.timestamp >= own.timestamp) continue;
      const met = other.writes.some(
        ({ key, partition }) => checked.has(key) || checked.has(partition),
      );
      if (met)
        found.push(`${invariant}: ${other.id} lies between the reads and commit of ${each.id}`);
    }
  }
  return found;
}

/**
 * Replays all commits in timestamp order; every read must be what stood there at its read
 * timestamp.
 */
function judgeStates(history: History, commits: readonly CommittedVerdict[]): string[] {
  const found: string[] = [];
  const byId = new Map(history.performed.map((each) => [each.id, each]));
  const state: State = new Map();
  const reads = [...history.performed].sort((a, b) => a.readTimestamp - b.readTimestamp);
  let next = 0;
  const judgeReadsBelow = (timestamp: number): void => {
    for (; next < reads.length; next += 1) {
      const each = reads[next];
      if (each === undefined || each.readTimestamp >= timestamp) return;
      found.push(...judgeReads(each, state));
    }
  };
  for (const commit of commits) {
    judgeReadsBelow(commit.timestamp);
    const performed = byId.get(commit.id);
    if (performed === undefined) found.push(`I3: nobody knows of the commit ${commit.id}`);
    for (const write of performed?.writes ?? [])
      state.set(itemIdentity(write.table, write.key), write);
  }
  judgeReadsBelow(Number.POSITIVE_INFINITY);
  for (const { table, key, item } of history.final) {
    const wanted = state.get(itemIdentity(table, key))?.item;
    if (!same(wanted, item)) found.push(`I7: ${table.name} ${show(key)} ended as ${show(item)}`);
  }
  return found;
}

/** The last write of each item so far. */
type State = Map<string, Performed["writes"][number]>;

function judgeReads(each: Performed, state: State): string[] {
  const found: string[] = [];
  const where = `at ${each.readTimestamp.toString()}`;
  for (const { table, key, item } of each.reads) {
    const wanted = state.get(itemIdentity(table, key))?.item;
    if (!same(wanted, item)) found.push(`I8: read ${show(item)} ${where}, not ${show(wanted)}`);
  }
  for (const { table, partition, rows } of each.queries) {
    const wanted = Array.from(state.values())
      .filter((write) => write.table.name === table.name && same(write.key["pk"], partition))
      .flatMap(({ item }) => (item === undefined ? [] : [show(item)]))
      .sort();
    if (!same(wanted, rows.map(show).sort())) {
      found.push(`I8: queried ${show(rows)} ${where}, not ${wanted.join(" ")}`);
    }
  }
  return found;
}

function judgeSamples(samples: readonly Sample[], commits: readonly CommittedVerdict[]): string[] {
  const found: string[] = [];
  const before = new Map<KeyHash, number>();
  let watermark = 0;
  for (const sample of samples) {
    if (sample.watermark < watermark) found.push("I7: the watermark went back");
    watermark = sample.watermark;
    for (const [key, version] of sample.versions) {
      if (version < (before.get(key) ?? 0)) found.push(`I6: version ${version} of a key is older`);
      before.set(key, version);
    }
    for (const { timestamp, writes } of commits) {
      if (timestamp > sample.watermark) break;
      for (const { key } of writes) {
        const version = sample.versions.get(key);
        if (version !== undefined && version < timestamp) {
          found.push(
            `I7: watermark ${sample.watermark} claims ${timestamp}, and ${version} is stored`,
          );
        }
      }
    }
  }
  return found;
}

function same(a: unknown, b: unknown): boolean {
  return show(a) === show(b);
}

/** Attributes by name, so that equal items read alike. */
function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(show).join(",")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  // A recorded run's items carry the names of their versions, which its clients do not see.
  const entries = Object.entries(value)
    .filter(([name]) => name !== historyAttribute)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, each]) => `${name}:${show(each)}`).join(",")}}`;
}
