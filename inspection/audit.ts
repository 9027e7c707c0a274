/**
 * An audit of what the logs and the tables hold, against what docs/protocol.md says of them: blocks
 * follow each other (I1, I2), no id has two decisions (I3), and what the watermark has passed is
 * installed (I7). It goes by the newest blocks, and reads back what they have written.
 */
import { placeOf } from "../core/decision.ts";
import type { StoredItem } from "../core/ports.ts";
import { holds } from "../core/shard-map.ts";
import type {
  Decision,
  Item,
  KeyHash,
  LogBlock,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../core/types.ts";
import { momentText } from "./words/moments.ts";
import { keyText } from "./words/values.ts";
import type { Deployment, ShardLog } from "./deployment.ts";
import { newestBlocks, type ReadBlock } from "./log-reading.ts";
import type { Names } from "./names.ts";

export type Audited = {
  readonly blocks: number;
  readonly commits: number;
  /** Items that were read back. */
  readonly items: number;
  /** Commits whose keys are not known: their payloads lie elsewhere, or could not be read. */
  readonly unread: number;
  /** Writes to mixed tables: native writes may have replaced them, so nothing can be said. */
  readonly mixed: number;
  readonly faults: readonly string[];
};

export type AuditRequest = {
  readonly blocksMax: number;
  readonly itemsMax: number;
  readonly readsPayloads: boolean;
  /** Told before each item that is read back. */
  readonly onItem?: (done: number, all: number) => void;
};

export async function audited(
  deployment: Deployment,
  names: Names,
  request: AuditRequest,
): Promise<Audited> {
  const logs = await Promise.all(
    deployment.logs.map(async (log): Promise<AuditedLog> => {
      // The watermark first: what it has passed then is installed by now.
      const watermark = await deployment.ports.control.readWatermark(log.shard);
      const { blocksMax } = request;
      const blocks = await newestBlocks(deployment.ports.log, log, { blocksMax });
      return { log, blocks, installedThrough: watermark?.timestamp ?? (0 as Timestamp) };
    }),
  );
  const installs = await auditInstalls(deployment, names, { logs, request });
  const decided = logs.map(({ log, blocks }) => ({ log, decisions: decisionsIn(blocks) }));
  return {
    ...installs,
    blocks: logs.reduce((sum, { blocks }) => sum + blocks.length, 0),
    commits: decided
      .flatMap(({ decisions }) => decisions)
      .filter(({ kind }) => kind === "committed").length,
    faults: [
      ...logs.flatMap(({ log, blocks }) => chainFaults(log, blocks)),
      ...decided.flatMap(({ log, decisions }) => decisionFaults(log, decisions)),
      ...wholeFaults(decided),
      ...installs.faults,
    ],
  };
}

type AuditedLog = {
  readonly log: ShardLog;
  /** The newest first. */
  readonly blocks: readonly ReadBlock[];
  readonly installedThrough: Timestamp;
};

type Named = Pick<ShardLog, "number">;

/** I1, I2: dense positions, each block begins where the one before ended. Newest first. */
export function chainFaults(
  { number }: Named,
  blocks: readonly Pick<ReadBlock, "position" | "block" | "fault">[],
): readonly string[] {
  return blocks.flatMap(({ position, block, fault }, at) => {
    const before = blocks[at + 1];
    if (fault !== undefined) return [`shard ${number}: ${fault}`];
    if (before === undefined) return [];
    if (before.position !== position - 1) {
      return [`shard ${number}: I1: block ${position} follows on block ${before.position}`];
    }
    const from = before.block?.throughTimestamp;
    if (from === undefined || block?.previousTimestamp === from) return [];
    return [`shard ${number}: I2: block ${position} does not begin where the one before ends`];
  });
}

function decisionsIn(blocks: readonly { readonly block: LogBlock | undefined }[]) {
  return [...blocks]
    .reverse()
    .flatMap(({ block }) => block?.verdicts ?? [])
    .filter((verdict): verdict is Decision => {
      return verdict.kind === "committed" || verdict.kind === "aborted";
    });
}

/** I3: within one log. */
export function decisionFaults(
  { number }: Named,
  decisions: readonly Pick<Decision, "id">[],
): readonly string[] {
  const seen = new Set<TransactionId>();
  const twice = new Set<TransactionId>();
  for (const { id } of decisions) {
    if (seen.has(id)) twice.add(id);
    seen.add(id);
  }
  return Array.from(twice, (id) => `shard ${number}: I3: transaction ${id} is decided twice`);
}

type Decided = { readonly log: Named; readonly decisions: readonly Decision[] };

/** I3 over all logs: what has parts is committed in each of them, at one timestamp, or in none. */
export function wholeFaults(all: readonly Decided[]): readonly string[] {
  const decisions = all.flatMap((each) => each.decisions);
  const parts = new Map<TransactionId, Timestamp>();
  const faults = new Set<string>();
  for (const decision of decisions) {
    if (decision.kind !== "committed" || decision.placed === undefined) continue;
    const { id, timestamp } = decision;
    const known = parts.get(id) ?? timestamp;
    parts.set(id, known);
    if (known !== timestamp) faults.add(`I3: transaction ${id} counts at two timestamps`);
  }
  for (const { id, kind } of decisions) {
    if (kind !== "aborted" || !parts.has(id)) continue;
    faults.add(`I3: transaction ${id} is committed in one log, aborted in another`);
  }
  return [...faults];
}

type Expected = {
  readonly table: TableDescription;
  readonly key: Item;
  readonly item: Item | undefined;
  readonly version: Timestamp;
  readonly id: TransactionId;
};

type Installs = Pick<Audited, "items" | "unread" | "mixed" | "faults">;

async function auditInstalls(
  deployment: Deployment,
  names: Names,
  { logs, request }: { readonly logs: readonly AuditedLog[]; readonly request: AuditRequest },
): Promise<Installs> {
  const expected: Expected[] = [];
  const counts = { unread: 0, mixed: 0 };
  for (const each of logs) {
    const left = request.itemsMax - expected.length;
    expected.push(...(await expectedOf(deployment, names, { each, left, request, counts })));
  }
  const newest = Math.max(...logs.map(({ blocks }) => blocks[0]?.block?.throughTimestamp ?? 0));
  const faults: string[] = [];
  for (const [done, each] of expected.entries()) {
    request.onItem?.(done, expected.length);
    const stored = await deployment.ports.items.get(each.table, each.key);
    faults.push(...installFaults(each, stored, newest as Timestamp));
  }
  return { ...counts, items: expected.length, faults };
}

type Gathering = {
  readonly each: AuditedLog;
  readonly left: number;
  readonly request: AuditRequest;
  readonly counts: { unread: number; mixed: number };
};

/** The newest write of each key that the watermark has passed. */
async function expectedOf(
  { registry }: Deployment,
  names: Names,
  { each: { log, blocks, installedThrough }, left, request, counts }: Gathering,
): Promise<readonly Expected[]> {
  const found = new Map<KeyHash, Expected>();
  /** What a newer write was, is not known: it may be a delete, and its tombstone gone. */
  const unknown = new Set<KeyHash>();
  for (const verdict of blocks.flatMap(({ block }) => [...(block?.verdicts ?? [])].reverse())) {
    if (verdict.kind !== "committed" || verdict.writes.length === 0) continue;
    if (found.size >= left) break;
    const isElsewhere = verdict.payload.kind === "stream" || verdict.payload.kind === "spilled";
    const named =
      isElsewhere && !request.readsPayloads ? undefined : await names.writes(log, verdict);
    if (named?.kind !== "named") {
      counts.unread += 1;
      for (const { key } of verdict.writes) unknown.add(key);
      continue;
    }
    for (const [at, { table: name, key, item, hash }] of named.writes.entries()) {
      // Of what a split has moved the other log says what was written last.
      const partition = verdict.writes[at]?.partition;
      if (partition === undefined || !holds(log.range, partition) || unknown.has(hash)) continue;
      const table = registry.tables.find((known) => known.name === name);
      if (table === undefined || found.has(hash)) continue;
      if (table.access === "mixed" || table.move !== undefined) counts.mixed += 1;
      else if (placeOf(verdict) <= installedThrough) {
        const { timestamp: version, id } = verdict;
        found.set(hash, { table, key, item, version, id });
      }
    }
  }
  return [...found.values()];
}

/** I7. A deleted item may be gone, with its tombstone. */
export function installFaults(
  { table, key, item, version, id }: Expected,
  stored: StoredItem,
  newest: Timestamp,
): readonly string[] {
  const what = `${table.name} ${keyText(key)}`;
  if (stored.version > newest) {
    const at = momentText(stored.version);
    return [`${what}: its version ${at} lies above everything in the logs`];
  }
  const isGone = item === undefined && stored.item === undefined && !stored.tombstone;
  if (stored.version >= version || isGone) return [];
  return [
    `I7: ${what}: transaction ${id} wrote it at ${momentText(version)}, and stored is ` +
      (stored.version === 0 ? "no commit's" : momentText(stored.version)),
  ];
}
