/**
 * TransactWriteItems and TransactGetItems inside of a transaction: a step of it. All conditions are
 * looked at first, then all writes are buffered, and nothing of the body's comes between.
 */
import type { Item } from "../core/types.ts";
import { CapacityCount, readUnits } from "../expressions/capacity.ts";
import { keyOf, readKey, requireScalarKeys, requireTableName } from "../expressions/key-schema.ts";
import { missing, MisfitError } from "../expressions/refusals.ts";
import {
  checkTransact,
  decideAll,
  isRepeated,
  requestText,
  requireDistinctItems,
  requireKeys,
  writeOrMisfit,
  type TransactPart,
} from "../expressions/transact.ts";
import { sentMembers } from "../expressions/sent-members.ts";
import { decideWrite } from "../expressions/writes.ts";
import { boundWrite, dependsOnItem } from "./bound-writes.ts";
import { consumedByTable, countWrite, sizeOf } from "./consumption.ts";
import { itemText } from "./key-texts.ts";
import { projected, projectionOf, type ProjectedInput } from "./projections.ts";
import { checkPart, checkRequest, type Reported } from "./refused.ts";
import type { CommandTable } from "./tables.ts";
import type { TableWrite, TransactionCommands } from "./transaction-commands.ts";

type TransactWriteInput = Reported & {
  readonly TransactItems?: readonly TransactPart[] | undefined;
  readonly ClientRequestToken?: string | undefined;
};

export async function transactWriteItems(
  input: TransactWriteInput,
  commands: TransactionCommands,
): Promise<object> {
  checkRequest(input);
  const { TransactItems: parts = [], ClientRequestToken: token } = input;
  checkTransact(parts, token);
  const bound = parts.map((part) => writeOrMisfit(part, (write) => boundWrite(write, commands)));
  const writes = bound.filter((each): each is TableWrite => !(each instanceof MisfitError));
  requireDistinctItems(writes.map(addressOf).map(itemText));
  // Beside what others do, so that in its turn they are at hand.
  await commands.batchGet(writes.filter(dependsOnItem).map(addressOf));
  const counts = new Map<string, CapacityCount>();
  await commands.inTurn(async () => {
    const request = token === undefined ? "" : requestText(parts);
    if (token !== undefined && isRepeated(commands.tokens.get(token), request)) return;
    const seen = writes.filter(dependsOnItem);
    const items = await commands.batchGet(seen.map(addressOf));
    const found = new Map(seen.map((write, i) => [write, items[i]]));
    const decisions = decideAll(bound, (write) => {
      const before = found.get(write);
      return { before, after: decideWrite(write, before) };
    });
    writes.forEach((write, i) => {
      const { table } = write;
      const decision = decisions[i] ?? { before: undefined, after: undefined };
      commands.apply(write, decision, dependsOnItem(write));
      counts.set(table.name, countWrite(table, decision, counts.get(table.name), 2));
    });
    if (token !== undefined) commands.tokens.set(token, request);
  });
  return consumedByTable(counts.values(), input.ReturnConsumedCapacity, "write");
}

function addressOf({ table, item }: TableWrite): {
  readonly table: CommandTable;
  readonly key: Item;
} {
  return { table, key: keyOf(table.schema, item) };
}

type TransactGetInput = Reported & {
  readonly TransactItems?: readonly { readonly Get?: ProjectedInput | undefined }[] | undefined;
};

export async function transactGetItems(
  input: TransactGetInput,
  commands: TransactionCommands,
): Promise<object> {
  checkRequest(input);
  checkTransact(input.TransactItems);
  const wanted = (input.TransactItems ?? []).map((part) => {
    const given = sentMembers(part).Get;
    if (given === undefined) throw missing("Get");
    const Get = sentMembers(given);
    checkPart(Get);
    const key = readKey(Get.Key);
    const paths = projectionOf(Get);
    const table = commands.table(requireTableName(Get.TableName));
    requireScalarKeys(table, paths ?? []);
    return { table, key, paths };
  });
  requireKeys(wanted.map(({ table, key }) => ({ schema: table.schema, key })));
  requireDistinctItems(wanted.map(itemText));
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
