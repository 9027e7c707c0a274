/**
 * An application does not see that a table is mixed: through the plugin each command answers as it
 * does without it on the same items, and makes as many calls. Beside the items there are
 * placeholders, and all of them have attributes of Tidemark's.
 */
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  PutItemCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNativeWorld, type Attributes, type NativeWorld } from "../harness/native-world.ts";
import {
  answerOf,
  item,
  key,
  pages,
  reads,
  transactions,
  writes,
  type Command,
} from "./random-commands.ts";

let world: NativeWorld;

beforeAll(async () => {
  world = await startNativeWorld();
  // Until a store has shown what refuses a condition, a refusal that shows nothing is tried twice.
  const known = { TableName: world.table, Item: { pk: { S: "known" }, sk: { S: "1" } } };
  await world.plain.send(new PutItemCommand(known));
  const again = { ...known, ConditionExpression: "attribute_not_exists(pk)" };
  const refused = world.native.send(new PutItemCommand(again));
  await expect(refused).rejects.toThrow(ConditionalCheckFailedException);
  world.cleared.length = 0;
});
afterAll(() => world.stop());

const bytes = (fill: number) => ({ B: new Uint8Array(16).fill(fill) });
const identity = fc.constantFrom<Attributes>(
  {},
  { _n: bytes(1) },
  { _v: { N: "1700000000000000" } },
  { _v: { N: "1700000000000000" }, _n: bytes(2) },
);
const fence = fc.constantFrom<Attributes>({}, {}, { _f: bytes(3) });
/** An unaware UpdateItem has made an item of a placeholder. */
const mark = fc.constantFrom<Attributes>({}, {}, {}, { _x: { BOOL: true } });
const placeholder: Attributes = { _n: bytes(4), _f: bytes(4), _x: { BOOL: true } };

type State = { readonly items: readonly Attributes[]; readonly stored: readonly Attributes[] };

function stateOf(reserved: fc.Arbitrary<Attributes>, placeholders: number): fc.Arbitrary<State> {
  return fc
    .tuple(
      fc.uniqueArray(fc.tuple(item, reserved), { maxLength: 5, selector: ([{ sk }]) => sk?.S }),
      fc.uniqueArray(key, { maxLength: placeholders, selector: ({ sk }) => sk?.S }),
    )
    .map(([items, keys]) => {
      const there = items.filter(
        // A placeholder of which an unaware writer has made nothing is none.
        ([own, added]) => added["_x"] === undefined || Object.keys(own).length > 2,
      );
      const taken = new Set(there.map(([{ sk }]) => sk?.S));
      const hidden = keys.filter(({ sk }) => !taken.has(sk?.S));
      return {
        items: there.map(([own]) => own),
        stored: [
          ...there.map(([own, added]) => ({ ...own, ...added })),
          ...hidden.map((own) => ({ ...own, ...placeholder })),
        ],
      };
    });
}

async function fill(table: string, items: readonly Attributes[]): Promise<void> {
  const { Items = [] } = await world.plain.send(new ScanCommand({ TableName: table }));
  for (const { pk, sk } of Items) {
    const Key = { pk: pk!, sk: sk! };
    await world.plain.send(new DeleteItemCommand({ TableName: table, Key }));
  }
  for (const Item of items) {
    await world.plain.send(new PutItemCommand({ TableName: table, Item }));
  }
}

async function prepare({ items, stored }: State): Promise<void> {
  await fill(world.table, stored);
  await fill(world.otherTable, items);
}

const names = [
  ...["GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan", "PutItem", "UpdateItem"],
  ...["DeleteItem", "BatchWriteItem", "TransactWriteItems"],
];
const calls = (): number => names.reduce((sum, name) => sum + world.proxy.seen(name), 0);

async function compare(command: Command): Promise<number> {
  world.proxy.reset();
  const answer = await answerOf(world.native, command, world.table);
  const made = calls();
  const expected = await answerOf(world.plain, command, world.otherTable);
  const scanned = (of: unknown): number => (of as { ScannedCount?: number }).ScannedCount ?? 0;
  // Nobody can tell which placeholders a filter has dropped: they count as looked at.
  const isFiltered = "FilterExpression" in command.input && scanned(answer) > scanned(expected);
  const same = isFiltered ? { ...(expected as object), ScannedCount: scanned(answer) } : expected;
  expect(answer, JSON.stringify(command)).toEqual(same);
  return made;
}

const runs = { numRuns: 60 };

describe("answers as without the plugin", () => {
  test("reads, of items and placeholders", async () => {
    const reserved = fc
      .tuple(identity, fence, mark)
      .map((all) => ({ ...all[0], ...all[1], ...all[2] }));
    const command = world.isWhole ? fc.oneof(reads, transactions) : reads;
    const each = fc.asyncProperty(
      stateOf(reserved, 3),
      fc.array(command, { maxLength: 6 }),
      async (state, all) => {
        await prepare(state);
        const read = all.filter(({ name }) => name !== "transactWrite");
        for (const one of read) {
          const made = await compare(one);
          if (!state.stored.some(({ _x }) => _x !== undefined)) expect(made).toBe(1);
        }
      },
    );
    await fc.assert(each, runs);
  });

  test("pages, which are as full, and go on where they end", async () => {
    const all = async (table: string, isNative: boolean, { name, input }: Command) => {
      const found: unknown[] = [];
      let start: object | undefined;
      do {
        const from = start === undefined ? {} : { ExclusiveStartKey: start };
        const client = isNative ? world.native : world.plain;
        const page = (await answerOf(client, { name, input: { ...input, ...from } }, table)) as {
          readonly Items: readonly unknown[];
          readonly Count: number;
          readonly ScannedCount: number;
          readonly LastEvaluatedKey?: object;
        };
        expect([page.Count, page.ScannedCount]).toEqual([page.Items.length, page.Items.length]);
        found.push(page.Items);
        start = page.LastEvaluatedKey;
      } while (start !== undefined);
      // Whether there is one more, and empty, depends on where the last placeholder lies.
      return found.filter((items) => (items as unknown[]).length > 0);
    };
    const each = fc.asyncProperty(stateOf(identity, 4), pages, async (state, command) => {
      await prepare(state);
      const expected = await all(world.otherTable, false, command);
      expect(await all(world.table, true, command)).toEqual(expected);
    });
    await fc.assert(each, runs);
  });

  test("writes, and what they leave", async () => {
    const command = world.isWhole ? fc.oneof(writes, writes, transactions) : writes;
    const each = fc.asyncProperty(
      stateOf(identity, 0),
      fc.array(command, { minLength: 1, maxLength: 6 }),
      async (state, all) => {
        await prepare(state);
        for (const one of all) {
          const made = await compare(one);
          // A store that does not show what refuses a condition is tried twice.
          expect(made <= (world.isWhole ? 1 : 2)).toBe(true);
        }
        const scan: Command = { name: "scan", input: {} };
        await compare(scan);
        expect(world.cleared.length === 0 || !world.isWhole).toBe(true);
      },
    );
    await fc.assert(each, runs);
  });
});
