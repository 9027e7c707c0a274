/**
 * A request as it is sent to be certified (docs/protocol.md §6): what it checks, the local check of
 * that, its payload, and what a refusal means to its caller.
 */
import { assert } from "../../core/assert.ts";
import { CorruptDataError, TransactionTooLargeError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { OnDemand } from "../../core/on-demand.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { Tail } from "../../core/tail.ts";
import type { ReadConflict, TransactionReads } from "../../core/transaction-reads.ts";
import type {
  AbortReason,
  CommitRequest,
  Isolation,
  KeyHash,
  Part,
  Payload,
  TableDescription,
  Timestamp,
  TransactionId,
  WriteHashes,
} from "../../core/types.ts";
import { spillName } from "../../core/spill-name.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { orAborted } from "../concurrency.ts";
import { refuseBelowTail, conflictError } from "../conflict-error.ts";
import type { UndecidedRead } from "../express-way.ts";
import { TableRefusedError } from "../table-registry.ts";
import type { ShardSession } from "../shard-session.ts";
import type { WriteBuffer } from "../attempts/write-buffer.ts";

const spilling = new OnDemand("spilling", () => import("../../schemas/spill.ts"));

/**
 * What is sent to the oracle as one transaction: sealed, so that it stays as it is once its checks
 * are taken.
 */
export interface Committable {
  readonly isolation: Isolation;
  readonly reads: TransactionReads;
  readonly writes: WriteBuffer;
  /** What it has read of mixed tables, by hash: barred once it is prepared, and no conflict yet. */
  readonly mixed?: readonly (readonly [KeyHash, ReadConflict["read"]])[];
  /** Of those, what the tail is enough to know of: written since by another transaction. */
  readonly overtaken?: (tail: Tail) => ReadConflict | undefined;
}

/** What is checked, by the position that the oracle names in a conflict. */
export type Checks = {
  readonly hashes: readonly KeyHash[];
  readonly reads: readonly ReadConflict["read"][];
};

export function checksOf(
  { isolation, reads, writes, mixed = [] }: Committable,
  undecided: readonly UndecidedRead[],
): Checks {
  if (isolation === "snapshot") {
    const written = Array.from(writes.values());
    return {
      // mutant: no-write-set
      hashes: written.map(({ hashes }) => hashes.key),
      reads: written.map(({ table, key }) => ({ table: table.name, key })),
    };
  }
  const { keys, predicates } = reads;
  // mutant: no-read-set
  // mutant: no-predicates
  return {
    hashes: [
      ...[...keys.keys(), ...predicates.keys()],
      ...[...undecided.map(({ key }) => key), ...mixed.map(([hash]) => hash)],
    ],
    reads: [
      ...[...keys.values(), ...predicates.values()],
      ...[...undecided.map(({ read }) => read), ...mixed.map(([, read]) => read)],
    ],
  };
}

/** The part of certification that needs no oracle: `(r, L]` on the tail. Returns L. */
export function checkLocally(session: ShardSession, subject: Committable): Timestamp {
  const { reads, writes } = subject;
  const { tail } = session.follower;
  refuseBelowTail(reads, tail);
  const overtaken = subject.overtaken?.(tail);
  if (overtaken !== undefined) throw conflictError(overtaken, overtaken);
  if (subject.isolation === "serializable") {
    const conflict = reads.conflict(tail);
    // mutant: no-local-check
    if (conflict !== undefined) throw conflictError(conflict, conflict);
    return tail.newest;
  }
  for (const { table, key, hashes } of writes.values()) {
    const timestamp = tail.lastCommit(hashes.key);
    // mutant: no-local-check-of-snapshot
    if (timestamp === undefined || timestamp <= reads.readTimestamp) continue;
    throw conflictError({ read: { table: table.name, key } }, { timestamp });
  }
  return tail.newest;
}

export async function buildRequest(
  ports: ClientPorts,
  { express, isStreamless, hashes: keys }: ShardSession,
  parts: {
    readonly kind: "commit" | "prepare";
    readonly id: TransactionId;
    readonly checkedTo: Timestamp;
    readonly checks: Checks;
    readonly payload: Payload;
    readonly parts?: readonly Part[] | undefined;
    readonly hashes: () => readonly WriteHashes[];
    readonly subject: Committable;
    readonly call: CallOptions;
    readonly signal: AbortSignal;
    readonly leave: () => void;
  },
): Promise<CommitRequest> {
  const { kind, id, checkedTo, checks, call } = parts;
  const isMixed = parts.payload.tables.some((table) => table.isMixed === true);
  assert(
    kind === "prepare" || !isMixed,
    "commit: what writes a mixed table is prepared, and committed by a vote",
  );
  const request = {
    kind,
    id,
    isolation: parts.subject.isolation,
    checkedTo,
    checks: checks.hashes,
    ...(parts.parts === undefined ? {} : { parts: parts.parts }),
  } as const;
  if (parts.payload.writes.length === 0) return { ...request, payload: { kind: "none" } };
  const bytes = encodePayload(parts.payload);
  const requestBytes = bytes.length + 8 * checks.hashes.length + 64;
  if (requestBytes <= limits.inlineRequestBytesMax) {
    const inline = { kind: "inline", bytes } as const;
    // Where there is a stream it takes what is too large for a block.
    const isForBlock = isStreamless && express?.takes(inline, parts.hashes()) === false;
    if (!isForBlock) return { ...request, payload: inline };
  }
  parts.leave();
  const spilled = spill(ports, bytes, { id, call, hashes: keys });
  const payload = await orAborted(spilled, parts.signal);
  return { ...request, payload };
}

export async function spill(
  ports: ClientPorts,
  bytes: Uint8Array,
  of: {
    readonly id: TransactionId;
    readonly call: CallOptions;
    readonly hashes: Pick<KeyHashes, "shard">;
  },
): Promise<CommitRequest["payload"]> {
  const { spillPayload } = await spilling.load();
  const { chunks, source } = spillPayload(bytes, ports.digest);
  // mutant: express-refers-to-nothing
  await ports.log.spill(spillName(of.id, of.hashes.shard), chunks, of.call);
  return source;
}

export function abortError(
  reason: AbortReason,
  checks: Checks,
  tables: readonly TableDescription[],
): Error {
  switch (reason.kind) {
    case "conflict": {
      const read = checks.reads[reason.check];
      assert(read !== undefined, "I4: a conflict names a check of its own request");
      return conflictError({ read }, { timestamp: reason.conflictTimestamp, by: "oracle" });
    }
    case "checked-ahead":
      return new CorruptDataError(
        "the oracle's log ends below what this process has read of it; was the log table " +
          "restored or emptied?",
      );
    case "payload-unreadable":
      return new UnavailableError(
        "the oracle could not read the spilled payload; nothing was committed",
      );
    case "too-large":
      return new TransactionTooLargeError(
        "the oracle refused the request as too large; the limit transactionKeysMax is " +
          `${limits.transactionKeysMax}`,
        {
          name: "transactionKeysMax",
          max: limits.transactionKeysMax,
          actual: checks.hashes.length,
        },
      );
    case "table-unknown":
    case "table-differs": {
      const names = tables.map(({ name }) => `"${name}"`).join(", ");
      return new TableRefusedError(
        `the oracle refused the commit (${reason.kind}): the registry does not have the table ` +
          `${names} as this process knew it`,
        tables,
      );
    }
    case "elsewhere":
      return new CorruptDataError(
        "the log refused a write that lies in another shard: the control table's entries of " +
          "shards are not those that its oracle knows (docs/operations.md, Shards)",
      );
    case "probed":
      return probedError();
  }
}

/** Another process asked for the outcome of an id before it was decided. */
export function probedError(): UnavailableError {
  return new UnavailableError("somebody asked for the outcome first, which settled it as aborted");
}
