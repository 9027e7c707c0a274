/** The history format: lines to transactions and back, and what is refused. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  parseFinalState,
  parseLines,
  parseTransaction,
  parseVersionOrder,
  readLines,
} from "../../testing/history/parse.ts";
import {
  lineWriter,
  serializeFinalState,
  serializeLines,
  serializeTransaction,
  serializeVersionOrder,
} from "../../testing/history/serialize.ts";
import {
  HistoryFormatError,
  type HistoryOp,
  type HistoryTransaction,
} from "../../testing/history/types.ts";

const name = fc.string({ minLength: 1, maxLength: 8 });
const time = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const op: fc.Arbitrary<HistoryOp> = fc.oneof(
  fc.tuple(fc.constant("r" as const), name, fc.option(name)),
  fc.tuple(fc.constantFrom("w" as const, "d" as const, "a" as const), name, name),
);
const transaction: fc.Arbitrary<HistoryTransaction> = fc
  .record(
    {
      id: name,
      process: name,
      times: fc.tuple(time, time),
      status: fc.constantFrom("commit" as const, "unknown" as const),
      kind: fc.constantFrom("init" as const, "txn" as const, "native" as const, "base" as const),
      parent: name,
      isolation: fc.constantFrom("serializable" as const, "snapshot" as const),
      strict: fc.constant(false as const),
      ops: fc.array(op, { maxLength: 5 }),
      snapshotTs: time,
      commit: fc.record({ commitTs: time, place: time }, { requiredKeys: ["commitTs"] }),
    },
    { requiredKeys: ["id", "process", "times", "status", "kind", "isolation", "ops"] },
  )
  .map(({ times, commit, ...rest }) => ({
    ...rest,
    ...commit,
    start: Math.min(...times),
    end: Math.max(...times),
  }));

const valid = {
  ...{ id: "t", process: "p", start: 1, end: 2, status: "commit", kind: "txn" },
  ...{ isolation: "serializable", ops: [["r", "k", null]] },
};

function refusal(run: () => unknown): HistoryFormatError {
  try {
    run();
  } catch (error) {
    if (error instanceof HistoryFormatError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("history lines", () => {
  test("transactions survive writing and reading", () => {
    fc.assert(
      fc.property(fc.array(transaction, { maxLength: 4 }), (transactions) => {
        const text = serializeLines(transactions, serializeTransaction);
        expect(parseLines(text, parseTransaction)).toEqual(transactions);
      }),
    );
  });

  test("lines cut anywhere into chunks of bytes read the same", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(transaction, { maxLength: 3 }),
        fc.integer({ min: 1, max: 9 }),
        async (transactions, size) => {
          let text = "";
          const write = lineWriter((line) => (text += line), serializeTransaction);
          transactions.forEach(write);
          const bytes = Buffer.from(text);
          const read: HistoryTransaction[] = [];
          for await (const entry of readLines(chunks(bytes, size), parseTransaction)) {
            read.push(entry);
          }
          expect(read).toEqual(transactions);
        },
      ),
    );
  });

  test("version orders and final states survive writing and reading", () => {
    const orders = [{ key: "k", versions: ["a", "b"] }];
    const finals = [
      { key: "k", version: "b" },
      { key: "l", version: null },
    ];
    expect(parseLines(serializeLines(orders, serializeVersionOrder), parseVersionOrder)).toEqual(
      orders,
    );
    expect(parseLines(serializeLines(finals, serializeFinalState), parseFinalState)).toEqual(
      finals,
    );
  });

  test("fields come in one order, whatever the order of the object's", () => {
    const one = parseTransaction(JSON.stringify(valid), 1);
    const reversed = Object.fromEntries(Object.entries(valid).reverse());
    const other = parseTransaction(JSON.stringify(reversed), 1);
    expect(serializeTransaction(other)).toBe(serializeTransaction(one));
  });

  test.each<readonly [string, object, string]>([
    ["a missing id", { id: undefined }, "id"],
    ["an empty process", { process: "" }, "process"],
    ["a start in fractions", { start: 0.5 }, "start"],
    ["a start before the origin", { start: -1 }, "start"],
    ["an end before the start", { end: 0 }, "end"],
    ["a time that a double cannot hold", { end: 2 ** 53 }, "end"],
    ["a status of its own", { status: "committed" }, "status"],
    ["a kind of its own", { kind: "read" }, "kind"],
    ["an isolation level that is none", { isolation: "read-committed" }, "isolation"],
    ["strict: true, which is said by leaving it out", { strict: true }, "strict"],
    ["a commit timestamp of an abort", { status: "abort", commitTs: 5 }, "commitTs"],
    ["a place without a commit timestamp", { place: 1 }, "place"],
    ["a place before the first", { commitTs: 5, place: -1 }, "place"],
    ["an unknown field", { value: 1 }, "value"],
    ["ops that are no list", { ops: {} }, "ops"],
    ["an op of a kind of its own", { ops: [["x", "k", "v"]] }, "ops[0][0]"],
    ["a read without a version", { ops: [["r", "k"]] }, "ops[0]"],
    [
      "a write of nothing",
      {
        ops: [
          ["r", "k", null],
          ["w", "k", null],
        ],
      },
      "ops[1][2]",
    ],
    ["a key that is a number", { ops: [["r", 1, null]] }, "ops[0][1]"],
  ])("refuses %s", (_what, change, field) => {
    const text = `\n${JSON.stringify({ ...valid, ...change })}\n`;
    expect(refusal(() => parseLines(text, parseTransaction))).toMatchObject({ line: 2, field });
  });

  test.each(["", "null", "[]", "{", '"t"'])("refuses the line %j", (line) => {
    expect(refusal(() => parseTransaction(line, 7))).toMatchObject({ line: 7, field: "" });
  });
});

async function* chunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve();
    yield bytes.subarray(at, at + size);
  }
}
