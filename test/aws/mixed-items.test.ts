/**
 * Items of mixed tables on a real protocol server: each call does what a naive item does, on every
 * state that an item can have (docs/adr/0014-native-operations.md, Fence, Vote and install, Local
 * commit); and what becomes of answers that are lost.
 */
import { DeleteItemCommand, DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { toSdkItem } from "../../aws/attribute-values.ts";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import { createClientDynamoDb } from "../../aws/dynamodb.ts";
import { createDynamoDbMixedItems } from "../../aws/dynamodb-mixed-items.ts";
import { systemClock, systemRandom } from "../../aws/system.ts";
import { keyNamesOf, withoutReserved } from "../../core/attributes.ts";
import { LateSignatureError } from "../../core/errors.ts";
import { fenceBytesOf, fenceOf, identityOf, type Identity } from "../../core/item-identity.ts";
import { sameContent } from "../../core/item-content.ts";
import * as limits from "../../core/limits.ts";
import type { MixedItemStore } from "../../core/mixed-items-port.ts";
import type { Item, Stamp, TransactionId, Version } from "../../core/types.ts";
import { NaiveItems } from "../engine/mixed/naive-items.ts";
import { awsError, startFaultyProxy, type FaultyProxy } from "../harness/faulty-proxy.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
let proxy: FaultyProxy;
let clients: AwsClients;
let foreign: DynamoDBClient;
let mixed: MixedItemStore;
let at: { readonly table: ReturnType<typeof keyNamesOf>; readonly key: Item };
let keys = 0;

beforeAll(async () => {
  stores = await startLocalStores();
  proxy = await startFaultyProxy(stores.servers.endpoint.dynamodb);
  const endpoint = { ...stores.servers.endpoint, dynamodb: proxy.url };
  clients = createAwsClients({ ...stores.clientOptions, endpoint, callTimeoutMs: 20_000 });
  const dynamodb = createClientDynamoDb(clients.dynamodb);
  mixed = createDynamoDbMixedItems({ dynamodb, clock: systemClock, random: systemRandom });
  foreign = new DynamoDBClient({
    ...stores.clientOptions,
    endpoint: stores.servers.endpoint.dynamodb,
  });
  const table = await stores.createTable("mixed", {
    partitionKey: { name: "size", type: "S" },
    sortKey: { name: "order", type: "N" },
  });
  at = { table: keyNamesOf(table), key: {} };
});
afterEach(() => {
  proxy.reset();
});
afterAll(async () => {
  foreign.destroy();
  await clients.close();
  await Promise.all([stores.stop(), proxy.stop()]);
});

function fresh(): typeof at {
  keys += 1;
  return { table: at.table, key: { size: { S: `s${keys}` }, order: { N: "7" } } };
}

async function put(item: Item): Promise<void> {
  await foreign.send(new PutItemCommand({ TableName: at.table.name, Item: toSdkItem(item) }));
}

async function set(key: Item, item: Item | undefined): Promise<void> {
  if (item !== undefined) return put(item);
  await foreign.send(new DeleteItemCommand({ TableName: at.table.name, Key: toSdkItem(key) }));
}

const ids = ["0".repeat(32), `01${"a".repeat(30)}`, `02${"fe".repeat(15)}`] as TransactionId[];
const nonces = [1, 2, 3].map((byte) => new Uint8Array(16).fill(byte));
const versions = [7, 1_700_000_000_000_000] as Version[];

const id = fc.constantFrom(...ids);
const nonce = fc.constantFrom(...nonces);
const stamp: fc.Arbitrary<Stamp> = fc.oneof(
  nonce.map((each) => ({ kind: "nonce" as const, nonce: each })),
  fc.constantFrom(...versions).map((version) => ({ kind: "version" as const, version })),
);
const identity: fc.Arbitrary<Identity> = fc.oneof(
  { weight: 3, arbitrary: stamp },
  fc.constantFrom({ kind: "bare" as const }, { kind: "absent" as const }),
);
/** No lists and maps: dynalite finds no two of them equal. */
const content: fc.Arbitrary<Item> = fc.record(
  {
    status: fc.constantFrom({ S: "new" }, { S: "done" }),
    tags: fc.constantFrom({ SS: ["a", "b"] }, { SS: ["b", "a"] }, { SS: ["a"] }),
    _inner: fc.constantFrom({ N: "1" }, { N: "-2.5" }),
    bytes: fc.constantFrom({ B: Uint8Array.of(1, 2) }),
  },
  { requiredKeys: [] },
);
const stored: fc.Arbitrary<Item | undefined> = fc.option(
  fc
    .tuple(
      content,
      fc.record(
        {
          _n: nonce.map((B) => ({ B })),
          _v: fc.constantFrom(...versions).map((version) => ({ N: version.toString() })),
          _f: id.map((each) => ({ B: fenceBytesOf(each) })),
          _x: fc.constant({ BOOL: true }),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([attributes, reserved]) => ({ ...attributes, ...reserved })),
  { nil: undefined, freq: 6 },
);
const over = fc.option(id, { nil: undefined });

/** What the naive one does, and the store; the answers and the items that they leave. */
async function compare(
  before: Item | undefined,
  call: (to: NaiveItems | MixedItemStore, where: typeof at) => unknown,
): Promise<void> {
  const where = fresh();
  const item = before && { ...before, ...where.key };
  const naive = new NaiveItems();
  naive.put(where.key, item);
  await set(where.key, item);
  const expected = call(naive, where);
  const answer = await call(mixed, where);
  expect(plain(answer)).toEqual(plain(expected));
  const left = await mixed.read(where);
  const same = sameContent(left, naive.get(where.key));
  expect(same, JSON.stringify([left, naive.get(where.key)])).toBe(true);
}

/** Bytes as arrays, sets in order. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(plain).sort();
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(entries.map(([name, each]) => [name, plain(each)]));
}

const guessed = fc.oneof(identity, fc.constant({ kind: "identified" } as const));

const runs = { numRuns: 120 };
/** Every other request is one that the item fits, but for its fence. */
const fits = fc.boolean();

describe("does to an item in any state what it says", () => {
  test("a fence, by each guess", async () => {
    const each = fc.asyncProperty(
      ...[stored, id, guessed, nonce, over, fits],
      (item, own, guess, made, garbage, isFit) => {
        const expects = isFit ? identityOf(item) : guess;
        return compare(item, (to, where) =>
          to.fence({ ...where, id: own, expects, nonce: made, over: garbage }),
        );
      },
    );
    await fc.assert(each, runs);
  });

  test("a stamp, by each guess", async () => {
    const each = fc.asyncProperty(
      ...[stored, identity, nonce, over, fits],
      async (item, guess, made, garbage, isFit) => {
        const expects = isFit ? identityOf(item) : guess;
        if (expects.kind === "absent") return;
        return compare(item, (to, where) =>
          to.stamp({ ...where, expects, nonce: made, over: garbage }),
        );
      },
    );
    await fc.assert(each, runs);
  });

  test("an install, put or delete, over fence and stamp and over nothing else", async () => {
    const next = fc.option(content, { nil: undefined });
    const asked = fc.record({ id, stamp, fitsFence: fits, fitsStamp: fits, guards: fc.boolean() });
    const each = fc.asyncProperty(stored, next, asked, (item, attributes, other) => {
      const own = identityOf(item);
      const isStamp = own.kind === "nonce" || own.kind === "version";
      const fence = item && fenceOf(item);
      return compare(item, (to, where) =>
        to.install({
          ...where,
          id: other.fitsFence && fence !== undefined ? fence : other.id,
          item: attributes && { ...where.key, ...attributes },
          version: 1_800_000_000_000_000 as Version,
          stamp: other.fitsStamp && isStamp ? own : other.stamp,
          leavesTombstone: other.guards,
        }),
      );
    });
    await fc.assert(each, runs);
  });

  test("a clean-up, of each kind", async () => {
    const removes = fc.constantFrom(
      ...(["fence", "mark", "item", "tombstone-fence"] as const satisfies readonly string[]),
    );
    const each = fc.asyncProperty(stored, id, removes, (item, own, kind) =>
      compare(item, (to, where) => to.cleanUp({ ...where, id: own, removes: kind })),
    );
    await fc.assert(each, runs);
  });

  test("a local write, on each condition", async () => {
    const condition = fc.option(fc.record({ expects: identity, content }), { nil: undefined });
    const kind = fc.constantFrom("put" as const, "delete" as const, "update" as const);
    const each = fc.asyncProperty(
      ...[stored, content, condition, kind, nonce, over, fits],
      (item, next, guess, how, made, garbage, isFit) => {
        const expects = isFit ? identityOf(item) : guess?.expects;
        // What is there, or a part of it: an update then sets what is not said to be there.
        const own = Object.entries(withoutReserved(item ?? {}));
        const part = own.filter(([name]) => guess === undefined || name in guess.content);
        const relied = isFit ? Object.fromEntries(part) : guess?.content;
        const isLocal = expects !== undefined && expects.kind !== "bare";
        const isThere = isLocal && expects.kind !== "absent";
        return compare(item, (to, where) =>
          to.writeLocally({
            ...where,
            change:
              how === "update" && isThere
                ? { kind: how, set: next, remove: ["_f", "_v", "_x", "gone"] }
                : how === "delete"
                  ? { kind: how }
                  : { kind: "put" as const, item: { ...where.key, ...next } },
            condition: isLocal ? { expects, content: relied } : undefined,
            nonce: made,
            over: garbage,
          }),
        );
      },
    );
    await fc.assert(each, { numRuns: 200 });
  });
});

test("a local commit's conditions fit into an expression, by however long names", async () => {
  const named = (prefix: string, count: number): Item =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`${prefix.repeat(200)}${i}`, { N: `${i}` }]),
    );
  const half = limits.localAttributesMax / 2;
  for (const [is, added] of [
    [named("is", limits.localAttributesMax), {}],
    [named("is", half), named("added", half)],
    [{}, named("added", limits.localAttributesMax)],
  ] as const) {
    const where = fresh();
    const [own] = nonces;
    if (own === undefined) return;
    await put({ ...where.key, ...is, _n: { B: own } });
    const answer = await mixed.writeLocally({
      ...where,
      change: { kind: "update", set: { ...is, ...added }, remove: ["_v", "_f", "_x"] },
      condition: { expects: { kind: "nonce", nonce: own }, content: is },
      nonce: new Uint8Array(16),
      over: ids[0],
    });
    expect(answer.kind).toBe("done");
    const [body] = proxy.bodies("UpdateItem").slice(-1) as { ConditionExpression: string }[];
    expect(body?.ConditionExpression.length).toBeLessThan(4_096);
    expect(body?.ConditionExpression.match(/ AND |=|_exists|OR/g)?.length).toBeLessThan(300);
  }
});

describe("a call whose nonce is its own", () => {
  const request = () => ({
    ...fresh(),
    id: ids[1] as TransactionId,
    expects: { kind: "absent" } as const,
    nonce: nonces[0] as Uint8Array,
  });

  test("is sent once, and a lost answer is told as unknown, whatever came of it", async () => {
    for (const fault of ["cut-before", "cut-after"] as const) {
      proxy.reset();
      proxy.fail("UpdateItem", { kind: fault });
      const fence = request();
      expect(await mixed.fence(fence)).toMatchObject({ kind: "unknown" });
      expect(proxy.seen("UpdateItem")).toBe(1);
      expect((await mixed.read(fence)) !== undefined).toBe(fault === "cut-after");
    }
  });

  test("has not happened when it was throttled", async () => {
    proxy.fail("UpdateItem", awsError(400, "ProvisionedThroughputExceededException"));
    await expect(mixed.fence(request())).rejects.toMatchObject({ fault: "throttled" });
    expect(proxy.seen("UpdateItem")).toBe(1);
  });

  test("is not signed when its time has passed", async () => {
    const late = mixed.fence(request(), { signBeforeMs: 1 });
    await expect(late).rejects.toBeInstanceOf(LateSignatureError);
    expect(proxy.seen("UpdateItem")).toBe(0);
  });
});

test("an install whose answer was lost is sent again, and superseded by itself", async () => {
  const where = fresh();
  const [own] = nonces;
  const [fence] = ids;
  if (own === undefined || fence === undefined) return;
  await put({ ...where.key, _n: { B: own }, _f: { B: fenceBytesOf(fence) } });
  proxy.fail("PutItem", { kind: "cut-after" });
  const install = {
    ...where,
    id: fence,
    item: { ...where.key, at: { S: "last" } },
    version: 5 as Version,
    stamp: { kind: "nonce", nonce: own } as const,
  };
  expect(await mixed.install(install)).toBe("superseded");
  const left = { ...install.item, _v: { N: "5" } };
  expect(await mixed.read(where)).toEqual(left);
});

describe("what stands in the way of a refused call", () => {
  test("costs one read where the store does not tell, and none where it does", async () => {
    const where = fresh();
    await put({ ...where.key, is: { S: "bare" } });
    const fence = { ...where, id: ids[1] as TransactionId, nonce: nonces[0] as Uint8Array };
    const expects = { kind: "absent" } as const;
    const shown = { kind: "refused", shown: { ...where.key, is: { S: "bare" } } };
    expect(await mixed.fence({ ...fence, expects })).toEqual(shown);
    proxy.reset();
    expect(await mixed.fence({ ...fence, expects })).toEqual(shown);
    expect(proxy.seen("GetItem")).toBe(stores.servers.dynamoDbLocal ? 0 : 1);
    const [body] = proxy.bodies("UpdateItem") as object[];
    const asks = body !== undefined && "ReturnValuesOnConditionCheckFailure" in body;
    expect(asks).toBe(stores.servers.dynamoDbLocal);
  });
});
