/**
 * What becomes of each operation that reads or writes items. All others, and those of tables that
 * are not mixed, pass as they are.
 */
import type { KeyNames } from "../core/attributes.ts";
import { partKinds, partNames, type PartName, type WriteKind } from "../expressions/write-kinds.ts";
import { withoutReserved } from "./hidden.ts";
import type { MixedTables } from "./mixed-tables.ts";
import { Nonces, tokenNonce, type Bytes } from "./nonces.ts";
import { page, type MarklessIndexes } from "./pages.ts";
import {
  batchGetItem,
  getItem,
  transactGetItems,
  type BatchGetInput,
  type TransactGetInput,
} from "./reads.ts";
import { refuseOnItsWay } from "./refused.ts";
import type { GuardedWrite, Refusal, Refusals } from "./refusals.ts";
import { statements, type StatementsInput } from "./statements.ts";
import { awareWrite, keyIn, withNonce } from "./writes.ts";
import type { Answer, Ask, GetInput, PageInput, ShownItem, WireItem, WriteInput } from "./wire.ts";

/** A call of an application's, and what is known here. */
export type NativeCall = {
  readonly ask: Ask<object, object>;
  readonly tables: MixedTables;
  readonly refusals: Refusals;
  readonly markless: MarklessIndexes;
  readonly bytes: Bytes;
  readonly nonces: Nonces;
  readonly isDynamoDb: () => boolean;
};

type Operation = (input: object, call: NativeCall) => Promise<Answer<object>> | undefined;

/** By the names of the SDK's commands. Undefined: no mixed table is touched. */
export const operations: Readonly<Record<string, Operation>> = {
  GetItemCommand: (input: GetInput, { ask, tables }) => {
    const table = tables.find(input.TableName);
    return table && getItem(ask, input, table);
  },
  BatchGetItemCommand: (input: BatchGetInput, { ask, tables }) => {
    const names = Object.keys(input.RequestItems ?? {});
    return names.some((name) => tables.find(name)) ? batchGetItem(ask, input, tables) : undefined;
  },
  TransactGetItemsCommand: (input: TransactGetInput, { ask, tables }) => {
    const isMixed = input.TransactItems?.some(({ Get }) => tables.find(Get?.TableName));
    return isMixed === true ? transactGetItems(ask, input, tables) : undefined;
  },
  QueryCommand: pages,
  ScanCommand: pages,
  PutItemCommand: (input, call) => writeOne("put", input, call),
  UpdateItemCommand: (input, call) => writeOne("update", input, call),
  DeleteItemCommand: (input, call) => writeOne("delete", input, call),
  BatchWriteItemCommand: (input: BatchWriteInput, call) => {
    const names = Object.keys(input.RequestItems ?? {});
    return names.some((name) => call.tables.find(name)) ? batchWrite(input, call) : undefined;
  },
  TransactWriteItemsCommand: (input: TransactWriteInput, call) => {
    const isMixed = input.TransactItems?.some((part) => call.tables.find(writeIn(part)?.TableName));
    return isMixed === true ? transactWrite(input, call) : undefined;
  },
  ExecuteStatementCommand: partiQl,
  BatchExecuteStatementCommand: partiQl,
  ExecuteTransactionCommand: partiQl,
};

function pages(input: PageInput, { ask, tables, markless }: NativeCall) {
  const table = tables.find(input.TableName);
  return table && page(ask, input, { table, markless });
}

function partiQl(input: StatementsInput, { ask, tables }: NativeCall) {
  return statements(ask, input, tables);
}

function writeOne(
  kind: WriteKind,
  input: WriteInput,
  { ask, tables, refusals, nonces, isDynamoDb }: NativeCall,
): Promise<Answer<object>> | undefined {
  const table = tables.find(input.TableName);
  if (table === undefined) return undefined;
  refuseOnItsWay(table);
  const send = async (): Promise<Answer<object>> => {
    nonces.forget();
    const aware = awareWrite(kind, input, { table, nonce: () => nonces.next() });
    const answer = await ask(aware);
    showOld(answer.output);
    return answer;
  };
  const refused = (error: unknown): readonly (readonly [Refusal, GuardedWrite])[] =>
    isNamed(error, "ConditionalCheckFailedException")
      ? [[error as Refusal, guardedWrite(input, table)]]
      : [];
  return refusals.overcome(send, refused, isDynamoDb);
}

function guardedWrite(input: WriteInput, table: KeyNames): GuardedWrite {
  return {
    table,
    key: keyIn(input, table),
    asked: input.ReturnValuesOnConditionCheckFailure,
    isConditional: input.ConditionExpression !== undefined,
  };
}

/** Attributes that were only ours are none. */
function showOld(output: { Attributes?: ShownItem }): void {
  const { Attributes: old } = output;
  if (old === undefined) return;
  const shown = withoutReserved(old);
  if (shown !== old && Object.keys(shown).length === 0) delete output.Attributes;
  else output.Attributes = shown;
}

type BatchPart = { readonly PutRequest?: { readonly Item?: WireItem } };
type BatchWriteInput = { readonly RequestItems?: Readonly<Record<string, readonly BatchPart[]>> };
type BatchWriteOutput = {
  UnprocessedItems?: Record<string, { PutRequest?: { Item?: ShownItem } }[]>;
};

async function batchWrite(
  input: BatchWriteInput,
  { ask, tables, nonces }: NativeCall,
): Promise<Answer<BatchWriteOutput>> {
  const requests = Object.entries(input.RequestItems ?? {}).map(([name, parts]) => {
    const table = tables.find(name);
    if (table === undefined) return [name, parts] as const;
    refuseOnItsWay(table);
    const aware = parts.map((part) => {
      const item = part.PutRequest?.Item;
      if (item === undefined) return part;
      return { ...part, PutRequest: { Item: withNonce(item, table, nonces.next()) } };
    });
    return [name, aware] as const;
  });
  const answer: Answer<BatchWriteOutput> = await ask({
    ...input,
    RequestItems: Object.fromEntries(requests),
  });
  for (const [name, parts] of Object.entries(answer.output.UnprocessedItems ?? {})) {
    if (tables.find(name) === undefined) continue;
    for (const { PutRequest: put } of parts) {
      if (put?.Item !== undefined) put.Item = withoutReserved(put.Item);
    }
  }
  return answer;
}

type TransactPart = { readonly [Name in PartName]?: WriteInput };
type TransactWriteInput = {
  readonly TransactItems?: readonly TransactPart[];
  readonly ClientRequestToken?: string;
};

function writeIn(part: TransactPart): WriteInput | undefined {
  return part.Put ?? part.Update ?? part.Delete ?? part.ConditionCheck;
}

/** The SDK makes a token where the user names none, and tries by one token are one. */
async function transactWrite(
  input: TransactWriteInput,
  { ask, tables, refusals, bytes, isDynamoDb }: NativeCall,
): Promise<Answer<object>> {
  const { TransactItems: parts = [], ClientRequestToken: token } = input;
  const nonces = new Nonces(bytes);
  const writes = parts.map((part) => {
    const own = writeIn(part);
    const table = tables.find(own?.TableName);
    if (own === undefined || table === undefined) return undefined;
    refuseOnItsWay(table);
    return guardedWrite(own, table);
  });
  const aware = (): readonly TransactPart[] =>
    parts.map((part, index) => {
      const name = partNames.find((each) => part[each] !== undefined);
      const table = writes[index]?.table;
      if (name === undefined || table === undefined) return part;
      const own = part[name] ?? {};
      const nonce = () => (token === undefined ? nonces.next() : tokenNonce(token, part));
      return { [name]: awareWrite(partKinds[name], own, { table, nonce, always: true }) };
    });
  const refused = (error: unknown) =>
    reasonsOf(error).flatMap((reason, index) =>
      reason.Code === "ConditionalCheckFailed" ? [[reason, writes[index]] as const] : [],
    );
  return refusals.overcome(() => ask({ ...input, TransactItems: aware() }), refused, isDynamoDb);
}

function reasonsOf(error: unknown): readonly Refusal[] {
  if (!isNamed(error, "TransactionCanceledException")) return [];
  return (error as { readonly CancellationReasons?: readonly Refusal[] }).CancellationReasons ?? [];
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}
