/**
 * Commits that the oracle would take but for the tables that they name, or for what these would not
 * take: were one certified, replay would write with its own rights where their sender may not, or
 * would be refused for good.
 */
import { FrameError } from "../../core/errors.ts";
import { callerEntryKey } from "../../core/idempotency-key.ts";
import type { Item, PayloadTable, TableDescription, Timestamp } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { decodeCommitRecord } from "../../schemas/commit-record-reading.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { makeTransactionId, transactionIdRandomBytes } from "../../schemas/transaction-id.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** What of a deployment a producer knows, or can guess. */
export type HostileAims = {
  readonly shard: string;
  readonly controlTable: string;
  /** Of the shard's hash secret. */
  readonly hashFingerprint: number;
  readonly tables: readonly Pick<
    TableDescription,
    "name" | "partitionKey" | "sortKey" | "history"
  >[];
};

export const tableLies = [
  "unregistered-table",
  "own-table",
  "other-key",
  "other-history",
  "nameless-attribute",
  "entry-of-nothing",
] as const;
export type TableLie = (typeof tableLies)[number];

/** Up to where an honest client had just checked; undefined for a record that is none. */
export function checkedToOf(recent: Uint8Array): Timestamp | undefined {
  try {
    return decodeCommitRecord(recent).find(({ kind }) => kind === "commit")?.checkedTo;
  } catch (error) {
    if (error instanceof FrameError) return undefined;
    throw error;
  }
}

/** @param checkedTo one that the oracle still takes. */
export function tableLie(
  lie: TableLie,
  random: SeededRandom,
  { aims, checkedTo }: { readonly aims: HostileAims; readonly checkedTo: Timestamp },
): Uint8Array {
  const { table, key, more } = liesAbout(lie, random, aims);
  // Of a watermark it would make one that lies beyond everything.
  const item = { ...key, position: { N: "999999" }, timestamp: { N: "8000000000000000" }, ...more };
  const bytes = encodePayload({ tables: [table], writes: [{ table: 0, key, item }] });
  const request = encodeCommitRequest({
    kind: "commit",
    id: makeTransactionId(checkedTo, random.bytes(transactionIdRandomBytes)),
    isolation: "serializable",
    checkedTo,
    checks: [],
    payload: { kind: "inline", bytes },
  });
  return encodeCommitRecord(aims.hashFingerprint, [request]);
}

function liesAbout(
  lie: TableLie,
  random: SeededRandom,
  { shard, controlTable, tables }: HostileAims,
): { readonly table: PayloadTable; readonly key: Item; readonly more?: Item } {
  const { name, partitionKey, sortKey, history } = random.pick(tables);
  const value = { S: "somebody's" };
  const key = {
    [partitionKey.name]: value,
    ...(sortKey === undefined ? {} : { [sortKey.name]: value }),
  };
  const table = {
    name,
    partitionKey: partitionKey.name,
    ...(sortKey === undefined ? {} : { sortKey: sortKey.name }),
    history,
  };
  const control = { name: controlTable, partitionKey: "pk", sortKey: "sk", history: false };
  switch (lie) {
    case "unregistered-table":
      return { table: { ...table, name: `${name}-2` }, key };
    case "other-history":
      return { table: { ...table, history: !history }, key };
    case "other-key":
      return { table: { name, partitionKey: "zz", history }, key: { zz: value } };
    case "nameless-attribute":
      return { table, key, more: { "": value } };
    case "entry-of-nothing":
      return { table: control, key: callerEntryKey("guessed") };
    case "own-table":
      return {
        table: control,
        key: { pk: { S: `shard#${shard}` }, sk: { S: "watermark" } },
      };
  }
}
