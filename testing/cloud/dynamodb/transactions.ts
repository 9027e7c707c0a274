/**
 * TransactWriteItems and TransactGetItems: all or nothing, at one moment; repeated calls with a
 * token count once.
 */
import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { itemSizeBytes } from "../../../core/item-size.ts";
import type { Item } from "../../../core/types.ts";
import { CapacityCount, readUnits } from "../../../expressions/capacity.ts";
import {
  readKey,
  requireKey,
  requireScalarKeys,
  requireTableName,
} from "../../../expressions/key-schema.ts";
import { readPlaceholders } from "../../../expressions/placeholders.ts";
import { bindProjection, project } from "../../../expressions/projections.ts";
import {
  invalid,
  keyMismatchMessage,
  MisfitError,
  missing,
} from "../../../expressions/refusals.ts";
import { type CancellationReason, ServiceError } from "../../../expressions/service-error.ts";
import { consumedByTable } from "./batch-operations.ts";
import type { Database } from "./database.ts";
import { countWrite } from "./item-operations.ts";
import { decide, type PreparedWrite, prepareWrite } from "./item-writes.ts";
import type { Operations } from "./operation-types.ts";
import { requireReportLevels } from "./requests.ts";
import { toSdkItem } from "./sdk-values.ts";
import type { Table } from "./table.ts";
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
  if (token !== undefined && (token === "" || token.length > limits.tokenLengthMax)) {
    throw invalid("ClientRequestToken must have 1 to 36 characters");
  }
  requireCount(input.TransactItems);
  const prepared = (input.TransactItems ?? []).map((entry) => prepareOrMisfit(database, entry));
  const writes = prepared.filter((each): each is PreparedWrite => !(each instanceof MisfitError));
  requireDistinct(writes);
  const request = token === undefined ? "" : requestText(input.TransactItems);
  const known = token === undefined ? undefined : tokens.find(token, database.nowMs);
  if (known !== undefined) return replayed(writes, { known, request, ReturnConsumedCapacity });

  const results = decideAll(prepared);
  requireTransactionSize(results);
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
  call: {
    readonly known: string;
    readonly request: string;
    readonly ReturnConsumedCapacity: Input["ReturnConsumedCapacity"];
  },
): Operations["TransactWriteItems"]["output"] {
  if (call.known !== call.request) {
    throw new ServiceError("IdempotentParameterMismatchException", {
      message: "The provided client token was used with other parameters",
    });
  }
  const counts = new Map<string, CapacityCount>();
  for (const { table, key } of writes) {
    const count = counts.get(table.name) ?? new CapacityCount(table.name);
    count.addTable(readUnits(table.find(key)?.bytes ?? 0, "transactional"));
    counts.set(table.name, count);
  }
  return consumedByTable([...counts.values()], call.ReturnConsumedCapacity, "read");
}

function requireCount(entries: readonly unknown[] | undefined): void {
  const count = entries?.length ?? 0;
  if (count < 1) {
    throw invalid(
      "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: " +
        "Member must have length greater than or equal to 1",
    );
  }
  if (count > limits.transactionItemsMax) {
    throw invalid("Member must have length less than or equal to 100");
  }
}

function prepareOrMisfit(
  database: Database,
  entry: TransactWriteItem,
): PreparedWrite | MisfitError {
  try {
    return prepareEntry(database, entry);
  } catch (error) {
    if (error instanceof MisfitError) return error;
    throw error;
  }
}

function prepareEntry(database: Database, entry: TransactWriteItem): PreparedWrite {
  const { ConditionCheck, Put, Update, Delete } = entry;
  const operations = [ConditionCheck, Put, Update, Delete].filter((each) => each !== undefined);
  if (operations.length !== 1) {
    throw invalid("TransactItems can only contain one of Check, Put, Update or Delete");
  }
  if (Put !== undefined) return prepareWrite(database, { kind: "put", input: Put });
  if (Update !== undefined) return prepareWrite(database, { kind: "update", input: Update });
  if (Delete !== undefined) return prepareWrite(database, { kind: "delete", input: Delete });
  return prepareWrite(database, { kind: "check", input: ConditionCheck ?? {} });
}

function requireDistinct(writes: readonly Pick<PreparedWrite, "table" | "key">[]): void {
  const seen = new Set<string>();
  for (const { table, key } of writes) {
    const { id } = key.partition;
    const identity = `${table.name} ${id.length.toString()} ${id} ${key.sort?.id ?? ""}`;
    if (seen.has(identity)) {
      throw invalid("Transaction request cannot include multiple operations on one item");
    }
    seen.add(identity);
  }
}

type Decision = { readonly before: Item | undefined; readonly after: Item | undefined };

/** @throws ServiceError TransactionCanceledException with a reason for each item. */
function decideAll(writes: readonly (PreparedWrite | MisfitError)[]): readonly Decision[] {
  const decisions: Decision[] = [];
  const reasons: CancellationReason[] = [];
  for (const write of writes) {
    try {
      if (write instanceof MisfitError) throw write;
      decisions.push(decide(write));
      reasons.push({ Code: "None" });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      reasons.push(reasonOf(error));
    }
  }
  if (decisions.length < writes.length) throw cancelled(reasons);
  return decisions;
}

function cancelled(reasons: readonly CancellationReason[]): ServiceError {
  const codes = reasons.map(({ Code }) => Code ?? "None").join(", ");
  return new ServiceError("TransactionCanceledException", {
    message:
      "Transaction cancelled, please refer cancellation reasons for specific reasons " +
      `[${codes}]`,
    cancellationReasons: reasons,
  });
}

function reasonOf(error: ServiceError): CancellationReason {
  const Code =
    error.name === "ConditionalCheckFailedException" ? "ConditionalCheckFailed" : "ValidationError";
  const reason: CancellationReason = { Code, Message: error.message };
  if (error.Item !== undefined) reason.Item = error.Item;
  return reason;
}

function requireTransactionSize(decisions: readonly Decision[]): void {
  const bytes = decisions.reduce(
    (sum, { after }) => sum + (after === undefined ? 0 : itemSizeBytes(after)),
    0,
  );
  if (bytes <= limits.transactionBytesMax) return;
  throw invalid(`Transaction payload size cannot exceed 4MB. Payload Size: ${bytes.toString()}`);
}

/** The same for the same request, whatever the order of its members. */
function requestText(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => {
    if (member instanceof Uint8Array) return { bytes: [...member] };
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    const entries = Object.entries(member);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries);
  });
}

export function transactGetItems(
  database: Database,
  input: Operations["TransactGetItems"]["input"],
): Operations["TransactGetItems"]["output"] {
  requireReportLevels(input);
  requireCount(input.TransactItems);
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
  requireKeys(wanted);
  const reads = wanted.map((each) => ({ ...each, key: each.table.rowKey(each.keyItem) }));
  requireDistinct(reads);
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

/** @throws ServiceError TransactionCanceledException when a key does not fit its table. */
function requireKeys(reads: readonly { readonly table: Table; readonly keyItem: Item }[]): void {
  const reasons = reads.map(({ table, keyItem }): CancellationReason => {
    try {
      requireKey(table.schema, keyItem);
      return { Code: "None" };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.message !== keyMismatchMessage) throw error;
      return reasonOf(error);
    }
  });
  if (reasons.some(({ Code }) => Code !== "None")) throw cancelled(reasons);
}
