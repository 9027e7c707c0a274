/**
 * TransactWriteItems and TransactGetItems inside of a transaction: a step of it. All conditions are
 * looked at first, then all writes are buffered, and nothing of the body's comes between.
 */
import type { Item } from "../core/types.ts";
import { CapacityCount, readUnits } from "../expressions/capacity.ts";
import {
  keyOf,
  readKey,
  requireKey,
  requireScalarKeys,
  requireTableName,
} from "../expressions/key-schema.ts";
import { invalid, keyMismatchMessage, MisfitError, missing } from "../expressions/refusals.ts";
import { ServiceError, type CancellationReason } from "../expressions/service-error.ts";
import { partKinds, partNames, type PartName } from "../expressions/write-kinds.ts";
import { decideWrite, type Decision, type WriteInput } from "../expressions/writes.ts";
import { boundWrite, dependsOnItem } from "./bound-writes.ts";
import { consumedByTable, countWrite, sizeOf } from "./consumption.ts";
import { requireDistinct } from "./key-texts.ts";
import { projected, projectionOf, type ProjectedInput } from "./projections.ts";
import { checkPart, checkRequest, type Reported } from "./refused.ts";
import type { CommandTable } from "./tables.ts";
import type { TableWrite, TransactionCommands } from "./transaction-commands.ts";

const transactionItemsMax = 100;
const transactionBytesMax = 4 * 1024 * 1024;
const tokenLengthMax = 36;

type WritePart = { readonly [Name in PartName]?: WriteInput["input"] | undefined };

type TransactWriteInput = Reported & {
  readonly TransactItems?: readonly WritePart[] | undefined;
  readonly ClientRequestToken?: string | undefined;
};

export async function transactWriteItems(
  input: TransactWriteInput,
  commands: TransactionCommands,
): Promise<object> {
  checkRequest(input);
  const { TransactItems: parts = [], ClientRequestToken: token } = input;
  if (token !== undefined && (token === "" || token.length > tokenLengthMax)) {
    throw invalid("ClientRequestToken must have 1 to 36 characters");
  }
  requireCount(parts);
  const bound = parts.map((part) => boundOrMisfit(part, commands));
  const writes = bound.filter((each): each is TableWrite => !(each instanceof MisfitError));
  requireDistinct(
    writes.map(addressOf),
    "Transaction request cannot include multiple operations on one item",
  );
  // Beside what others do, so that in its turn they are at hand.
  await commands.batchGet(writes.filter(dependsOnItem).map(addressOf));
  const counts = new Map<string, CapacityCount>();
  await commands.inTurn(async () => {
    if (token !== undefined && isRepeated({ token, parts }, commands)) return;
    const seen = writes.filter(dependsOnItem);
    const items = await commands.batchGet(seen.map(addressOf));
    const decisions = decideAll(bound, new Map(seen.map((write, i) => [write, items[i]])));
    requireTransactionSize(decisions);
    writes.forEach((write, i) => {
      const { table } = write;
      const decision = decisions[i] ?? { before: undefined, after: undefined };
      commands.apply(write, decision, dependsOnItem(write));
      counts.set(table.name, countWrite(table, decision, counts.get(table.name), 2));
    });
    if (token !== undefined) commands.tokens.set(token, requestText(parts));
  });
  return consumedByTable(counts.values(), input.ReturnConsumedCapacity, "write");
}

function addressOf({ table, item }: TableWrite): {
  readonly table: CommandTable;
  readonly key: Item;
} {
  return { table, key: keyOf(table.schema, item) };
}

/** @throws ServiceError when the token has stood for another request. */
function isRepeated(
  request: { readonly token: string; readonly parts: readonly WritePart[] },
  { tokens }: TransactionCommands,
): boolean {
  const known = tokens.get(request.token);
  if (known === undefined) return false;
  if (known === requestText(request.parts)) return true;
  throw new ServiceError("IdempotentParameterMismatchException", {
    message: "The provided client token was used with other parameters",
  });
}

/** The same for the same request, whatever the order of its members. */
function requestText(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => {
    if (member instanceof Uint8Array) return { bytes: [...member] };
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function requireCount({ length }: readonly unknown[]): void {
  if (length < 1) {
    throw invalid(
      "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: " +
        "Member must have length greater than or equal to 1",
    );
  }
  if (length > transactionItemsMax) {
    throw invalid("Member must have length less than or equal to 100");
  }
}

function boundOrMisfit(part: WritePart, commands: TransactionCommands): TableWrite | MisfitError {
  const names = partNames.filter((name) => part[name] !== undefined);
  const [name] = names;
  const input = name === undefined ? undefined : part[name];
  if (name === undefined || input === undefined || names.length > 1) {
    throw invalid("TransactItems can only contain one of Check, Put, Update or Delete");
  }
  try {
    return boundWrite({ kind: partKinds[name], input }, commands);
  } catch (error) {
    if (error instanceof MisfitError) return error;
    throw error;
  }
}

/** @throws ServiceError TransactionCanceledException with a reason for each part. */
function decideAll(
  writes: readonly (TableWrite | MisfitError)[],
  seen: ReadonlyMap<TableWrite, Item | undefined>,
): readonly Decision[] {
  const decisions: Decision[] = [];
  const reasons = writes.map((write): CancellationReason => {
    try {
      if (write instanceof MisfitError) throw write;
      const before = seen.get(write);
      decisions.push({ before, after: decideWrite(write, before) });
      return { Code: "None" };
    } catch (error) {
      if (error instanceof ServiceError) return reasonOf(error);
      throw error;
    }
  });
  refuseUnlessAll(reasons);
  return decisions;
}

function reasonOf(error: ServiceError): CancellationReason {
  const isCondition = error.name === "ConditionalCheckFailedException";
  return {
    Code: isCondition ? "ConditionalCheckFailed" : "ValidationError",
    Message: error.message,
    ...(error.Item === undefined ? {} : { Item: error.Item }),
  };
}

function refuseUnlessAll(reasons: readonly CancellationReason[]): void {
  const codes = reasons.map(({ Code }) => Code ?? "None");
  if (codes.every((code) => code === "None")) return;
  throw new ServiceError("TransactionCanceledException", {
    message:
      "Transaction cancelled, please refer cancellation reasons for specific reasons " +
      `[${codes.join(", ")}]`,
    cancellationReasons: reasons,
  });
}

function requireTransactionSize(decisions: readonly Decision[]): void {
  const bytes = decisions.reduce((sum, { after }) => sum + sizeOf(after), 0);
  if (bytes <= transactionBytesMax) return;
  throw invalid(`Transaction payload size cannot exceed 4MB. Payload Size: ${bytes.toString()}`);
}

type TransactGetInput = Reported & {
  readonly TransactItems?: readonly { readonly Get?: ProjectedInput | undefined }[] | undefined;
};

export async function transactGetItems(
  input: TransactGetInput,
  commands: TransactionCommands,
): Promise<object> {
  checkRequest(input);
  requireCount(input.TransactItems ?? []);
  const wanted = (input.TransactItems ?? []).map(({ Get }) => {
    if (Get === undefined) throw missing("Get");
    checkPart(Get);
    const key = readKey(Get.Key);
    const paths = projectionOf(Get);
    const table = commands.table(requireTableName(Get.TableName));
    requireScalarKeys(table, paths ?? []);
    return { table, key, paths };
  });
  refuseUnlessAll(wanted.map(({ table, key }) => keyReason(table, key)));
  requireDistinct(wanted, "Transaction request cannot include multiple operations on one item");
  // Own writes count as of one moment.
  const items = await commands.batchGet(wanted);
  const counts = new Map<string, CapacityCount>();
  const Responses = wanted.map(({ table, paths }, i) => {
    const item = items[i];
    const count = counts.get(table.name) ?? new CapacityCount(table.name);
    count.addTable(readUnits(sizeOf(item), "transactional"));
    counts.set(table.name, count);
    return item === undefined ? {} : { Item: projected(item, paths) };
  });
  return { Responses, ...consumedByTable(counts.values(), input.ReturnConsumedCapacity, "read") };
}

function keyReason(table: CommandTable, key: Item): CancellationReason {
  try {
    requireKey(table.schema, key);
    return { Code: "None" };
  } catch (error) {
    const isMismatch = error instanceof ServiceError && error.message === keyMismatchMessage;
    if (isMismatch) return reasonOf(error);
    throw error;
  }
}
