/**
 * Single items of mixed tables on DynamoDB (docs/adr/0014-native-operations.md). What has a nonce
 * of its own is sent once, whatever the client's retries: a copy of it would have the same nonce.
 * What became of it is told as it is; an unknown answer is one that the state machines go on from.
 */
import type {
  DeleteItemCommandOutput,
  PutItemCommandOutput,
  UpdateItemCommandInput,
  UpdateItemCommandOutput,
} from "@aws-sdk/client-dynamodb";
import { StoreError } from "../core/errors.ts";
import { nonceAttribute } from "../core/attributes.ts";
import type {
  Attempted,
  ItemAddress,
  LocalWrite,
  MixedCallOptions,
  MixedItemStore,
} from "../core/mixed-items-port.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { Item } from "../core/types.ts";
import { fromSdkItem, toSdkItem } from "./attribute-values.ts";
import { callWrite, type Conditional } from "./call.ts";
import type { DynamoDbHandle } from "./clients.ts";
import { batchGetItems, type BatchGetParts } from "./dynamodb-batch-get.ts";
import { count, prepared } from "./dynamodb.ts";
import { inKnownOrder } from "./middleware-order.ts";
import {
  cleanUpExpressions,
  fenceExpressions,
  installExpressions,
  localExpressions,
  stampExpressions,
  type Expressions,
} from "./mixed-expressions.ts";
import { askingForShown, learnShown, showsItems } from "./refusals-shown.ts";
import { sentOnce } from "./single-try.ts";
import { toInstalledItem } from "./stored-item.ts";

const pages = new OnDemand("pages of mixed tables", () => import("./dynamodb-pages.ts"));

type Write = {
  readonly at: ItemAddress;
  readonly expressions: Expressions;
  /** Puts that item, updates as the expressions say, or deletes. */
  readonly change:
    | { readonly kind: "put"; readonly item: Item }
    | { readonly kind: "delete" }
    | { readonly kind: "update" };
  readonly options: MixedCallOptions | undefined;
  readonly isOnce: boolean;
};

type Output = PutItemCommandOutput | UpdateItemCommandOutput | DeleteItemCommandOutput;
/** What is asked of the store's answer. */
type Asked = Pick<
  UpdateItemCommandInput,
  "ReturnValues" | "ReturnValuesOnConditionCheckFailure" | "ReturnConsumedCapacity"
>;

export function createDynamoDbMixedItems(parts: BatchGetParts): MixedItemStore {
  return {
    read: (at, options) => read(parts, at, options),
    readAll: (addresses, options) => {
      const keys = addresses.map(({ table, key }) => ({ table: table.name, key }));
      return batchGetItems(parts, keys, { attributes: undefined, options });
    },
    query: (request, options) => pages.use(({ queryMixed }) => queryMixed(parts, request, options)),
    scan: (request, options) => pages.use(({ scanMixed }) => scanMixed(parts, request, options)),
    fence: (request, options) =>
      attempt(
        parts,
        { ...updateOf(request, fenceExpressions(request), options), isOnce: true },
        request.expects.kind === "absent",
      ),
    stamp: (request, options) =>
      attempt(parts, { ...updateOf(request, stampExpressions(request), options), isOnce: true }),
    writeLocally: (request, options) =>
      attempt(
        parts,
        {
          at: request,
          expressions: localExpressions(request),
          change: storedChange(request),
          options,
          isOnce: true,
        },
        request.condition?.expects.kind === "absent" && request.condition.content === undefined,
      ),
    async install(request, options) {
      const { key, item, version, leavesTombstone = false } = request;
      const change: Write["change"] =
        item === undefined && !leavesTombstone
          ? { kind: "delete" }
          : { kind: "put", item: toInstalledItem(key, item, version) };
      const expressions = installExpressions(request);
      const write = { at: request, expressions, change, options, isOnce: false };
      return (await send(parts, write, {})).kind === "done" ? "installed" : "superseded";
    },
    async cleanUp(request, options) {
      const change: Write["change"] = { kind: request.removes === "item" ? "delete" : "update" };
      const expressions = cleanUpExpressions(request);
      const write = { at: request, expressions, change, options, isOnce: false };
      return (await send(parts, write, {})).kind === "done" ? "cleaned" : "kept";
    },
  };
}

function updateOf(
  at: ItemAddress,
  expressions: Expressions,
  options: MixedCallOptions | undefined,
): Omit<Write, "isOnce"> {
  return { at, expressions, change: { kind: "update" }, options };
}

function storedChange({ change, nonce }: LocalWrite): Write["change"] {
  if (change.kind !== "put") return { kind: change.kind };
  return { kind: "put", item: { ...change.item, [nonceAttribute]: { B: nonce } } };
}

function read(
  { dynamodb }: BatchGetParts,
  { table, key }: ItemAddress,
  options: MixedCallOptions | undefined,
): Promise<Item | undefined> {
  const input = { TableName: table.name, Key: toSdkItem(key), ConsistentRead: true };
  return dynamodb.get(input, options);
}

/**
 * @param impliesItem a refusal says that there is an item.
 * @throws StoreError, "throttled" or "rejected": nothing has happened.
 */
async function attempt(
  parts: BatchGetParts,
  write: Write,
  impliesItem = false,
): Promise<Attempted> {
  const { signal } = write.options ?? {};
  signal?.throwIfAborted();
  const { client } = await parts.dynamodb.handle();
  let result: Conditional<Output>;
  try {
    result = await askingForShown(client, (asks) =>
      send(
        parts,
        write,
        write.change.kind === "update" ? { ...asks, ReturnValues: "ALL_OLD" } : asks,
      ),
    );
  } catch (error) {
    const isLost = error instanceof StoreError ? error.fault === "unavailable" : signal?.aborted;
    if (isLost !== true) throw error;
    return { kind: "unknown", cause: error };
  }
  if (result.kind === "done") {
    const { Attributes } = result.output;
    return { kind: "done", old: Attributes === undefined ? undefined : fromSdkItem(Attributes) };
  }
  const { Item } = result.error;
  if (Item !== undefined || impliesItem) learnShown(client, Item !== undefined);
  if (Item !== undefined) return { kind: "refused", shown: fromSdkItem(Item) };
  const isAbsent = showsItems(client);
  return {
    kind: "refused",
    shown: isAbsent ? undefined : await read(parts, write.at, write.options),
  };
}

async function send(
  { dynamodb, clock }: BatchGetParts,
  write: Write,
  asked: Asked,
): Promise<Conditional<Output>> {
  const { at, change, options, isOnce } = write;
  const beforeMs = options?.signBeforeMs;
  const signDeadline = beforeMs === undefined ? undefined : { clock, beforeMs };
  const name = { put: "PutItem", delete: "DeleteItem", update: "UpdateItem" }[change.kind];
  const operation = { handle: dynamodb.handle, name, table: at.table.name, options, signDeadline };
  const call = await prepared<Output>(operation, (to, metered) => {
    const made = commandOf(to, write, { ...asked, ...metered });
    return isOnce ? { ...made, send: sentOnce(made.command, made.send) } : made;
  });
  const result = await callWrite(call);
  if (result.kind === "done") count(options, "writeUnits", result.output.ConsumedCapacity);
  return result;
}

function commandOf(to: DynamoDbHandle, { at, change, expressions }: Write, asked: Asked) {
  const { client, sdk } = to;
  const TableName = at.table.name;
  type Http = { abortSignal?: AbortSignal };
  if (change.kind === "put") {
    const input = { TableName, Item: toSdkItem(change.item), ...expressions, ...asked };
    const command = inKnownOrder(client, new sdk.PutItemCommand(input));
    return { command, send: (http: Http): Promise<Output> => client.send(command, http) };
  }
  const input = { TableName, Key: toSdkItem(at.key), ...expressions, ...asked };
  if (change.kind === "delete") {
    const command = inKnownOrder(client, new sdk.DeleteItemCommand(input));
    return { command, send: (http: Http): Promise<Output> => client.send(command, http) };
  }
  const command = inKnownOrder(client, new sdk.UpdateItemCommand(input));
  return { command, send: (http: Http): Promise<Output> => client.send(command, http) };
}
