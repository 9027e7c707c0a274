/**
 * Transactions on mixed tables, step by step and on real stores: prepared, fenced, and decided by
 * blocks, as clients put them where there is no stream.
 */
import { randomBytes } from "node:crypto";
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { systemDigest } from "../../aws/system-digest.ts";
import { keyNamesOf, payloadTableOf } from "../../core/attributes.ts";
import { identityOf } from "../../core/item-identity.ts";
import type { ItemAddress } from "../../core/mixed-items-port.ts";
import type {
  CommittedVerdict,
  Item,
  LogBlock,
  LogPosition,
  MakerNumber,
  Payload,
  Stamp,
  TableDescription,
  Timestamp,
  TransactionId,
  Verdict,
  Watermark,
  WriteHashes,
} from "../../core/types.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { transactionIdFor, transactionIdProofBytes } from "../../schemas/transaction-id.ts";
import { openDynamoDb } from "../integration/support.ts";
import type { LocalStores } from "./local-stores.ts";
import { logOf } from "./voters.ts";

export type MixedWrite = {
  readonly table: TableDescription;
  readonly key: Item;
  /** Undefined deletes. */
  readonly item: Item | undefined;
};

export type Prepared = {
  readonly id: TransactionId;
  readonly writes: readonly MixedWrite[];
  readonly hashes: readonly WriteHashes[];
  readonly position: LogPosition;
};

/** Enters a table that is there as one that native operations write, too. */
export async function registerAs(
  stores: LocalStores,
  table: TableDescription,
  access: TableDescription["access"],
): Promise<TableDescription> {
  const foreign = openDynamoDb(stores);
  await foreign.send(
    new UpdateItemCommand({
      TableName: stores.ports.names.controlTable,
      Key: { pk: { S: "registry" }, sk: { S: table.name } },
      UpdateExpression: "SET #a = :a",
      ExpressionAttributeNames: { "#a": "access" },
      ExpressionAttributeValues: { ":a": { S: access } },
    }),
  );
  foreign.destroy();
  return { ...table, access };
}

export class MixedLog {
  readonly #stores: LocalStores;

  constructor(stores: LocalStores) {
    this.#stores = stores;
  }

  async prepare(writes: readonly MixedWrite[]): Promise<Prepared> {
    const { hashes, payload, id } = await this.#made(writes);
    const { position } = await this.append((timestamp) => ({
      kind: "prepared",
      id,
      timestamp,
      checks: [],
      writes: hashes,
      payload,
    }));
    return { id, writes, hashes, position };
  }

  /** The fence of one write, over what stands there. Gives what is to be voted. */
  async fence({ id, writes }: Prepared, index = 0): Promise<Stamp> {
    const at = addressOf(writes[index]);
    const { mixed } = this.#stores.ports;
    const expects = identityOf(await mixed.read(at));
    const nonce = new Uint8Array(randomBytes(16));
    const answer = await mixed.fence({ ...at, id, expects, nonce });
    if (answer.kind !== "done") throw new Error("nobody else is there");
    return expects.kind === "nonce" || expects.kind === "version"
      ? expects
      : { kind: "nonce", nonce };
  }

  async commit(
    { id, hashes, position }: Prepared,
    stamps: readonly Stamp[],
  ): Promise<CommittedVerdict> {
    const payload = { kind: "prepared", position } as const;
    const { verdict } = await this.append((timestamp) => ({
      kind: "committed",
      id,
      timestamp,
      writes: hashes,
      payload,
      stamps,
    }));
    if (verdict.kind !== "committed") throw new Error("it is a commit");
    return verdict;
  }

  /** As no client of ours does it on a mixed table: at once, and without a vote. */
  async commitPlainly(writes: readonly MixedWrite[]): Promise<Timestamp> {
    const { hashes, payload, id } = await this.#made(writes);
    const { block } = await this.append((timestamp) => ({
      kind: "committed",
      id,
      timestamp,
      writes: hashes,
      payload,
    }));
    return block.throughTimestamp;
  }

  async abort({ id }: Prepared): Promise<LogBlock> {
    const reason = { kind: "probed" } as const;
    const { block } = await this.append((timestamp) => ({
      kind: "aborted",
      id,
      timestamp,
      reason,
    }));
    return block;
  }

  async append(
    verdictAt: (at: Timestamp) => Verdict,
  ): Promise<{ position: LogPosition; verdict: Verdict; block: LogBlock }> {
    const { ports, shard, hashes } = this.#stores;
    const log = await logOf(this.#stores);
    const before = await this.#end(log);
    const throughTimestamp = Math.max(
      before.timestamp + 1,
      ports.clock.nowMs() * 1_000,
    ) as Timestamp;
    const verdict = verdictAt(throughTimestamp);
    const oldestOpen = oldestOpenOf(log);
    const block: LogBlock = {
      position: (before.position + 1) as LogPosition,
      previousTimestamp: before.timestamp,
      throughTimestamp,
      cursor: before.cursor,
      arrivalMs: 0,
      rejectedRecords: 0,
      maker: { number: 7 as MakerNumber, installed: [] },
      ...(oldestOpen === undefined ? {} : { oldestOpen }),
      verdicts: [verdict],
    };
    const bytes = encodeLogBlock(block, hashes);
    const appended = await ports.log.append(shard, { position: block.position, bytes });
    if (appended !== "appended") throw new Error("nobody else appends");
    return { position: block.position, verdict, block };
  }

  async #end(log: readonly LogBlock[]): Promise<Watermark> {
    const last = log.at(-1);
    if (last !== undefined) return { ...last, timestamp: last.throughTimestamp };
    const { ports, shard } = this.#stores;
    const first = await ports.control.readWatermark(shard);
    if (first === undefined) throw new Error("a provisioned shard has a watermark");
    return first;
  }

  async #made(writes: readonly MixedWrite[]) {
    const { timestamp } = await this.#end(await logOf(this.#stores));
    const proof = new Uint8Array(randomBytes(transactionIdProofBytes));
    const id = transactionIdFor(timestamp, proof, systemDigest);
    const bytes = encodePayload(payloadOf(writes));
    const hashes = writes.map(({ table, key }) => this.#stores.hashes.item(keyNamesOf(table), key));
    return { id, hashes, payload: { kind: "inline", bytes } as const };
  }
}

export function addressOf(write: MixedWrite | undefined): ItemAddress {
  if (write === undefined) throw new Error("there is no such write");
  return { table: keyNamesOf(write.table), key: write.key };
}

function payloadOf(writes: readonly MixedWrite[]): Payload {
  const tables = [...new Set(writes.map(({ table }) => table))];
  return {
    tables: tables.map((table) => payloadTableOf(table)),
    writes: writes.map(({ table, key, item }) => ({ table: tables.indexOf(table), key, item })),
  };
}

function oldestOpenOf(log: readonly LogBlock[]): LogPosition | undefined {
  const open = new Map<TransactionId, LogPosition>();
  for (const { verdicts, position } of log) {
    for (const { kind, id } of verdicts) {
      if (kind === "prepared") open.set(id, position);
      if (kind === "committed" || kind === "aborted") open.delete(id);
    }
  }
  const [oldest] = open.values();
  return oldest;
}
