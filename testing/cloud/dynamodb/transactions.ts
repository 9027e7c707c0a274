/**
 * TransactWriteItems and TransactGetItems: all or nothing, at one moment; repeated calls with a
 * token count once.
 */
import { CapacityCount, readUnits } from "../../../expressions/capacity.ts";
import { readKey, requireScalarKeys, requireTableName } from "../../../expressions/key-schema.ts";
import { readPlaceholders } from "../../../expressions/placeholders.ts";
import { bindProjection, project } from "../../../expressions/projections.ts";
import { missing, MisfitError } from "../../../expressions/refusals.ts";
import {
  checkTransact,
  decideAll,
  isRepeated,
  requestText,
  requireDistinctItems,
  requireKeys,
  writeOrMisfit,
} from "../../../expressions/transact.ts";
import { consumedByTable } from "./batch-operations.ts";
import type { Database } from "./database.ts";
import { countWrite } from "./item-operations.ts";
import { decide, type PreparedWrite, prepareWrite } from "./item-writes.ts";
import type { Operations } from "./operation-types.ts";
import { requireReportLevels } from "./requests.ts";
import { toSdkItem } from "./sdk-values.ts";
import * as limits from "./service-limits.ts";

type RememberedToken = { readonly request: string; readonly atMs: number };

type Input = Operations["TransactWriteItems"]["input"];

/** Tokens of transactions that were done, for as long as the service keeps them. */
export class TransactionTokens {
  readonly #tokens = new Map<string, RememberedToken>();

  /** The request that was made with the token, while it is remembered. */
  find(token: string, nowMs: number): string | undefined {
    const known = this.#tokens.get(token);
    return known !== undefined && nowMs - known.atMs <= limits.tokenAgeMsMax
      ? known.request
      : undefined;
  }

  remember(token: string, request: string, nowMs: number): void {
    this.#tokens.delete(token);
    this.#tokens.set(token, { request, atMs: nowMs });
    for (const [other, { atMs }] of this.#tokens) {
      if (nowMs - atMs <= limits.tokenAgeMsMax) break;
      this.#tokens.delete(other);
    }
  }
}

export function transactWriteItems(
  database: Database,
  tokens: TransactionTokens,
  input: Input,
): Operations["TransactWriteItems"]["output"] {
  requireReportLevels(input);
  const { ClientRequestToken: token, ReturnConsumedCapacity } = input;
  checkTransact(input.TransactItems, token);
  const prepared = (input.TransactItems ?? []).map((part) =>
    writeOrMisfit(part, (write) => prepareWrite(database, write)),
  );
  const writes = prepared.filter((each): each is PreparedWrite => !(each instanceof MisfitError));
  requireDistinctItems(writes.map(itemText));
  const request = token === undefined ? "" : requestText(input.TransactItems);
  const known = token === undefined ? undefined : tokens.find(token, database.nowMs);
  if (isRepeated(known, request)) return replayed(writes, ReturnConsumedCapacity);

  const results = decideAll(prepared, decide);
  const counts = new Map<string, CapacityCount>();
  for (const [index, write] of writes.entries()) {
    const { name } = write.table;
    const result = results[index];
    if (result === undefined) continue;
    const capacity =
      write.kind === "check"
        ? { table: 1, indexes: new Map() }
        : database.write(write.table, write.key, result.after);
    counts.set(name, countWrite(write.table, capacity, counts.get(name), 2));
  }
  if (token !== undefined) tokens.remember(token, request, database.nowMs);
  return consumedByTable([...counts.values()], ReturnConsumedCapacity, "write");
}

function replayed(
  writes: readonly PreparedWrite[],
  level: Input["ReturnConsumedCapacity"],
): Operations["TransactWriteItems"]["output"] {
  const counts = new Map<string, CapacityCount>();
  for (const { table, key } of writes) {
    const count = counts.get(table.name) ?? new CapacityCount(table.name);
    count.addTable(readUnits(table.find(key)?.bytes ?? 0, "transactional"));
    counts.set(table.name, count);
  }
  return consumedByTable([...counts.values()], level, "read");
}

/** Equal exactly for the same item. */
function itemText({ table, key }: Pick<PreparedWrite, "table" | "key">): string {
  const { id } = key.partition;
  return `${table.name} ${id.length.toString()} ${id} ${key.sort?.id ?? ""}`;
}

export function transactGetItems(
  database: Database,
  input: Operations["TransactGetItems"]["input"],
): Operations["TransactGetItems"]["output"] {
  requireReportLevels(input);
  checkTransact(input.TransactItems);
  const wanted = (input.TransactItems ?? []).map(({ Get }) => {
    if (Get === undefined) throw missing("Get");
    const key = readKey(Get.Key);
    const { ProjectionExpression: projection } = Get;
    const placeholders = readPlaceholders(Get, { conditions: [], projection });
    const paths = bindProjection(placeholders, projection);
    placeholders.requireAllUsed();
    const table = database.table(requireTableName(Get.TableName));
    requireScalarKeys(table, paths ?? []);
    return { table, keyItem: key, paths };
  });
  requireKeys(wanted.map(({ table, keyItem }) => ({ schema: table.schema, key: keyItem })));
  const reads = wanted.map((each) => ({ ...each, key: each.table.rowKey(each.keyItem) }));
  requireDistinctItems(reads.map(itemText));
  const counts = new Map<string, CapacityCount>();
  const Responses = reads.map(({ table, key, paths }) => {
    const stored = table.find(key);
    const count = counts.get(table.name) ?? new CapacityCount(table.name);
    count.addTable(readUnits(stored?.bytes ?? 0, "transactional"));
    counts.set(table.name, count);
    if (stored === undefined) return {};
    return { Item: toSdkItem(paths === undefined ? stored.item : project(stored.item, paths)) };
  });
  return {
    Responses,
    ...consumedByTable([...counts.values()], input.ReturnConsumedCapacity, "read"),
  };
}
