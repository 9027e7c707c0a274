/**
 * BatchGetItem and BatchWriteItem: many single operations in one call, each for itself, possibly
 * not all of them.
 */
import type {
  ConsumedCapacity,
  KeysAndAttributes,
  ReturnConsumedCapacity,
  WriteRequest,
} from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../core/types.ts";
import { readItem } from "../../../expressions/attribute-values.ts";
import { CapacityCount, readUnits } from "../../../expressions/capacity.ts";
import {
  requireKey,
  requireScalarKeys,
  requireTableName,
} from "../../../expressions/key-schema.ts";
import { type DocumentPath, readPlaceholders } from "../../../expressions/placeholders.ts";
import { bindProjection, project } from "../../../expressions/projections.ts";
import { invalid, missing } from "../../../expressions/refusals.ts";
import type { Database } from "./database.ts";
import { countWrite, findAt, staleTime } from "./item-operations.ts";
import { decide, type PreparedWrite, prepareWrite } from "./item-writes.ts";
import type { CallConditions, Operations } from "./operation-types.ts";
import type { SteppedRead } from "./page-reads.ts";
import { requireModelled, requireReportLevels } from "./requests.ts";
import { type SdkItem, toSdkItem } from "./sdk-values.ts";
import type { Table } from "./table.ts";
import * as limits from "./service-limits.ts";

type BatchGetOutput = Operations["BatchGetItem"]["output"];

type WantedTable = {
  readonly table: Table;
  readonly request: KeysAndAttributes;
  readonly paths: readonly DocumentPath[] | undefined;
  readonly capacity: CapacityCount;
};

type WantedKey = { readonly from: WantedTable; readonly key: Item };

/** A batch of reads under way. */
export class BatchRead implements SteppedRead<BatchGetOutput> {
  readonly #report: ReturnConsumedCapacity | undefined;
  readonly #tables: readonly WantedTable[];
  readonly #keys: readonly WantedKey[];
  readonly #atMs: number | undefined;
  readonly #responses = new Map<WantedTable, SdkItem[]>();
  readonly #unprocessed = new Map<WantedTable, SdkItem[]>();
  readonly #part: (index: number) => boolean;
  #at = 0;
  #bytes = 0;

  constructor(
    database: Database,
    input: Operations["BatchGetItem"]["input"],
    conditions: CallConditions,
  ) {
    requireReportLevels(input);
    this.#report = input.ReturnConsumedCapacity;
    const requests = Object.entries(input.RequestItems ?? {});
    if (requests.length === 0) throw missing("RequestItems");
    const wanted = readBatchGet(database, requests);
    this.#tables = wanted.tables;
    this.#keys = wanted.keys;
    this.#atMs = staleTime(database, conditions);
    this.#part = partOf(this.#keys.length, conditions.batchPart);
    for (const table of this.#tables) this.#responses.set(table, []);
  }

  step(rowsMax: number): boolean {
    for (let visited = 0; visited < rowsMax; visited++) {
      const wanted = this.#keys[this.#at];
      if (wanted === undefined) return false;
      this.#read(wanted, this.#part(this.#at));
      this.#at += 1;
    }
    return this.#at < this.#keys.length;
  }

  result(): BatchGetOutput {
    this.step(Number.POSITIVE_INFINITY);
    const Responses: Record<string, SdkItem[]> = {};
    for (const [{ table }, items] of this.#responses) Responses[table.name] = items;
    const UnprocessedKeys: Record<string, KeysAndAttributes> = {};
    for (const [{ table, request }, Keys] of this.#unprocessed) {
      UnprocessedKeys[table.name] = { ...request, Keys };
    }
    const counts = this.#tables.map(({ capacity }) => capacity);
    return { Responses, UnprocessedKeys, ...consumedByTable(counts, this.#report) };
  }

  #read({ from, key }: WantedKey, processed: boolean): void {
    const { table, request, paths, capacity } = from;
    const consistent = request.ConsistentRead === true;
    const stored = processed ? findAt(table, key, consistent ? undefined : this.#atMs) : undefined;
    const bytes = this.#bytes + (stored?.bytes ?? 0);
    if (!processed || bytes > limits.batchGetBytesMax) {
      const keys = this.#unprocessed.get(from) ?? [];
      keys.push(toSdkItem(key));
      this.#unprocessed.set(from, keys);
      return;
    }
    this.#bytes = bytes;
    capacity.addTable(readUnits(stored?.bytes ?? 0, consistent ? "consistent" : "eventual"));
    if (stored === undefined) return;
    const item = paths === undefined ? stored.item : project(stored.item, paths);
    this.#responses.get(from)?.push(toSdkItem(item));
  }
}

function readBatchGet(
  database: Database,
  requests: readonly (readonly [string, KeysAndAttributes])[],
): { readonly tables: readonly WantedTable[]; readonly keys: readonly WantedKey[] } {
  const read = requests.map(([name, request]) => {
    requireModelled(request);
    const { ProjectionExpression: projection } = request;
    const placeholders = readPlaceholders(request, { conditions: [], projection });
    const paths = bindProjection(placeholders, projection);
    placeholders.requireAllUsed();
    const keys = (request.Keys ?? []).map(readItem);
    if (keys.length === 0) {
      throw invalid(
        `The list of keys in RequestItems for BatchGetItem is required: ${name} has empty list`,
      );
    }
    return { name: requireTableName(name), request, paths, keys };
  });
  if (read.reduce((sum, { keys }) => sum + keys.length, 0) > limits.batchGetKeysMax) {
    throw invalid("Too many items requested for the BatchGetItem call");
  }
  const tables: WantedTable[] = [];
  const wanted: WantedKey[] = [];
  for (const { name, request, paths, keys } of read) {
    const table = database.table(name);
    requireScalarKeys(table, paths ?? []);
    const from = { table, request, paths, capacity: new CapacityCount(name) };
    tables.push(from);
    for (const key of keys) {
      requireKey(table.schema, key);
      wanted.push({ from, key });
    }
  }
  requireDistinct(
    wanted.map(({ from, key }) => ({ table: from.table, key: from.table.rowKey(key) })),
  );
  return { tables, keys: wanted };
}

export function batchWriteItem(
  database: Database,
  input: Operations["BatchWriteItem"]["input"],
  conditions: CallConditions,
): Operations["BatchWriteItem"]["output"] {
  requireReportLevels(input);
  const requests = Object.entries(input.RequestItems ?? {});
  if (requests.length === 0) throw missing("RequestItems");
  const entries: { readonly name: string; readonly request: WriteRequest }[] = [];
  for (const [name, list] of requests) {
    if (list.length === 0) {
      throw invalid(`The batch write request list for a table cannot be null or empty: ${name}`);
    }
    for (const request of list) entries.push({ name, request });
  }
  if (entries.length > limits.batchWriteItemsMax) {
    throw invalid("Too many items requested for the BatchWriteItem call");
  }
  const writes = entries.map(({ name, request }) => prepareEntry(database, name, request));
  requireDistinct(writes);
  const part = partOf(writes.length, conditions.batchPart);
  const counts = new Map<string, CapacityCount>();
  const UnprocessedItems: Record<string, WriteRequest[]> = {};
  for (const [index, write] of writes.entries()) {
    const { name } = write.table;
    const request = entries[index]?.request;
    if (!part(index) && request !== undefined) {
      (UnprocessedItems[name] ??= []).push(request);
      continue;
    }
    const { after } = decide(write);
    const capacity = database.write(write.table, write.key, after);
    counts.set(name, countWrite(write.table, capacity, counts.get(name)));
  }
  return {
    UnprocessedItems,
    ...consumedByTable([...counts.values()], input.ReturnConsumedCapacity),
  };
}

function prepareEntry(database: Database, TableName: string, request: WriteRequest): PreparedWrite {
  const { PutRequest, DeleteRequest } = request;
  if ((PutRequest === undefined) === (DeleteRequest === undefined)) {
    throw invalid("Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest");
  }
  return PutRequest === undefined
    ? prepareWrite(database, { kind: "delete", input: { TableName, Key: DeleteRequest?.Key } })
    : prepareWrite(database, { kind: "put", input: { TableName, Item: PutRequest.Item } });
}

/** @throws ServiceError when an item is named twice. */
function requireDistinct(entries: readonly Pick<PreparedWrite, "table" | "key">[]): void {
  const seen = new Set<string>();
  for (const { table, key } of entries) {
    const { id } = key.partition;
    const identity = `${table.name} ${id.length.toString()} ${id} ${key.sort?.id ?? ""}`;
    if (seen.has(identity)) throw invalid("Provided list of item keys contains duplicates");
    seen.add(identity);
  }
}

/** Which entries are done: so large a part of them, spread evenly, and at least one. */
function partOf(entries: number, fraction: number | undefined): (index: number) => boolean {
  if (fraction === undefined) return () => true;
  const done = Math.min(entries, Math.max(1, Math.floor(entries * fraction)));
  return (index) =>
    Math.floor(((index + 1) * done) / entries) > Math.floor((index * done) / entries);
}

export function consumedByTable(
  counts: readonly CapacityCount[],
  level: ReturnConsumedCapacity | undefined,
  both?: "read" | "write",
): { ConsumedCapacity?: ConsumedCapacity[] } {
  const reports = counts.map((count) => count.report(level, both));
  const ConsumedCapacity = reports.filter((report) => report !== undefined);
  return ConsumedCapacity.length === 0 ? {} : { ConsumedCapacity };
}
