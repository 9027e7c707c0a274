/** What the auditor tells from an item before and after a write (core/audit.ts). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { audit, type Audit } from "../../core/audit.ts";
import type { AttributeValue, Item, TransactionId, Version } from "../../core/types.ts";
import { toRemove } from "../../core/clean-up.ts";
import { identityOf } from "../../core/item-identity.ts";
import { NaiveItems } from "../engine/mixed/naive-items.ts";

const table = { name: "carts", partitionKey: "pk" };
const key: Item = { pk: { S: "x" } };
const at = { table, key };
const nonceOf = (byte: number) => new Uint8Array(16).fill(byte);
const idOf = (digit: number) => digit.toString().padStart(32, "0") as TransactionId;

const value = fc.constantFrom<AttributeValue>({ S: "old" }, { N: "1" }, { SS: ["a"] });
const content = fc.dictionary(fc.constantFrom("status", "n", "_inner", "__proto__"), value);

/** An item as anybody may find it. */
const stored: fc.Arbitrary<Item | undefined> = fc.option(
  fc
    .tuple(
      content,
      fc.record(
        {
          _n: fc.constantFrom(1, 2).map((byte) => ({ B: nonceOf(byte) })),
          _v: fc.constantFrom({ N: "7" }, { N: "8" }),
          _f: fc.constantFrom({ B: nonceOf(0x10) }, { B: nonceOf(0x20) }),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([attributes, reserved]) => ({ ...attributes, ...reserved, ...key })),
  { nil: undefined, freq: 5 },
);

function auditOf(before: Item | undefined, write: (items: NaiveItems) => unknown): Audit {
  const items = new NaiveItems();
  items.put(key, before);
  write(items);
  return audit({ before, after: items.get(key) }, table);
}

/** What the write does to each item; nothing, where its condition does not hold. */
function expectAware(write: (items: NaiveItems, before: Item | undefined) => unknown): void {
  let hasWritten = 0;
  fc.assert(
    fc.property(stored, (before) => {
      const items = new NaiveItems();
      items.put(key, before);
      write(items, before);
      const after = items.get(key);
      if (after === before) return;
      hasWritten += 1;
      expect(["aware", "delete"]).toContain(audit({ before, after }, table).kind);
    }),
  );
  expect(hasWritten).toBeGreaterThan(0);
}

describe("what brings a reserved attribute is no proof by itself:", () => {
  const item = { ...key, status: { S: "old" }, _v: { N: "7" } };

  test("a fence that was read with the item, and put back with it", () => {
    const after = { ...key, status: { S: "new" }, _n: { B: nonceOf(1) }, _f: { B: nonceOf(2) } };
    expect(audit({ before: item, after }, table)).toEqual({
      ...{ kind: "unaware", write: "put", isUnderFence: true },
      attributes: ["status"],
    });
  });

  test.each<AttributeValue>([{ S: "x".repeat(16) }, { B: nonceOf(1).subarray(1) }, { N: "1" }])(
    "a nonce that is none: %o",
    (_n) => {
      const after = { ...item, status: { S: "new" }, _n };
      expect(audit({ before: item, after }, table)).toMatchObject({ kind: "unaware" });
    },
  );
});

describe("whatever a transaction does is aware, on an item in any state:", () => {
  const nonce = nonceOf(9);

  test("a fence", () => {
    expectAware((items, before) =>
      items.fence({
        ...at,
        id: idOf(3),
        expects: identityOf(before),
        nonce,
        over: fenceIn(before),
      }),
    );
  });

  test("an install of a put and of a delete", () => {
    for (const item of [{ ...key, status: { S: "new" } }, undefined]) {
      expectAware((items, before) => {
        const stamp = identityOf(before);
        const id = fenceIn(before);
        if (id === undefined || stamp.kind === "bare" || stamp.kind === "absent") return;
        items.install({ ...at, id, item, version: 9 as Version, stamp });
      });
    }
  });

  test("a clean-up", () => {
    const nonceAgain = { nonce, over: undefined };
    for (const isPlaceholder of [false, true]) {
      expectAware((items, before) => {
        const id = idOf(4);
        if (isPlaceholder) {
          items.put(key, undefined);
          items.fence({ ...at, id, expects: { kind: "absent" }, ...nonceAgain });
        }
        const own = isPlaceholder ? id : fenceIn(before);
        const removes = own && toRemove(items.get(key), { id: own, keys: table });
        if (removes !== undefined) items.cleanUp({ ...at, id: own ?? id, removes });
      });
    }
  });

  test("a stamp, and a local commit", () => {
    expectAware((items, before) => {
      const expects = identityOf(before);
      const over = fenceIn(before);
      if (expects.kind !== "absent") items.stamp({ ...at, expects, nonce, over });
    });
    const item = { ...key, status: { S: "new" } };
    for (const change of [{ kind: "put", item } as const, { kind: "delete" } as const]) {
      expectAware((items, before) =>
        items.writeLocally({ ...at, change, condition: undefined, nonce, over: fenceIn(before) }),
      );
    }
  });
});

test("a native write with a nonce of its own is aware, whatever it changes", () => {
  fc.assert(
    fc.property(stored, content, (before, attributes) => {
      const after = { ...before, ...attributes, ...key, _n: { B: nonceOf(9) } };
      expect(audit({ before, after }, table)).toEqual({ kind: "aware" });
    }),
  );
});

describe("an unaware write is told, with the names of what it has changed:", () => {
  test("a put, over nothing and over whatever has an identity", () => {
    fc.assert(
      fc.property(stored, content, (before, attributes) => {
        const after = { ...attributes, ...key };
        const found = audit({ before, after }, table);
        // Over a bare item a put is as an update, or changes nothing.
        if (before !== undefined && identityOf(before).kind === "bare") return;
        expect(found).toMatchObject({ kind: "unaware", isUnderFence: false });
      }),
    );
  });

  test("an update, and what was read put back", () => {
    fc.assert(
      fc.property(stored, (before) => {
        if (before === undefined) return;
        const after = { ...before, secret: { S: "value" } };
        const isUnderFence = "_f" in before;
        const expected = { kind: "unaware", write: "update", attributes: ["secret"] };
        expect(audit({ before, after }, table)).toEqual({ ...expected, isUnderFence });
        const { _f, ...withoutFence } = after as Item;
        const back = audit({ before, after: withoutFence }, table);
        expect(back).toEqual({ ...expected, isUnderFence: false });
      }),
    );
  });

  test.each<[string, Item | undefined, Item, Partial<Audit>]>([
    ["an insert", undefined, { ...key, n: { N: "1" } }, { write: "put", attributes: ["n"] }],
    ["an item of a key alone", undefined, key, { write: "put", attributes: [] }],
    [
      "a put over a version",
      { ...key, n: { N: "1" }, is: { S: "a" }, _v: { N: "7" } },
      { ...key, n: { N: "2" } },
      { write: "put", attributes: ["is", "n"] },
    ],
    [
      "a version and a nonce that somebody takes away",
      { ...key, _n: { B: nonceOf(1) } },
      key,
      { write: "put", attributes: [] },
    ],
    [
      "a version set by hand beside a nonce",
      { ...key, _n: { B: nonceOf(1) } },
      { ...key, _n: { B: nonceOf(1) }, _v: { N: "7" } },
      { write: "reserved", attributes: [] },
    ],
    [
      "a number written otherwise, which is the same",
      { ...key, n: { N: "1.0" }, m: { N: "2" } },
      { ...key, n: { N: "1" }, m: { N: "3" } },
      { write: "update", attributes: ["m"] },
    ],
  ])("%s", (_, before, after, expected) => {
    expect(audit({ before, after }, table)).toMatchObject({ kind: "unaware", ...expected });
  });
});

describe("what only takes something away", () => {
  const before: Item = {
    ...{ ...key, _n: { B: nonceOf(1) }, n: { N: "1" }, tags: { SS: ["a", "b"] } },
    list: { L: [{ N: "1" }, { M: { x: { N: "1" }, y: { N: "2" } } }, { N: "1" }] },
  };
  const { n: _, ...withoutN } = before;

  test.each<[string, Item]>([
    ["an attribute", withoutN],
    ["a member of a set", { ...before, tags: { SS: ["b"] } }],
    ["an element", { ...before, list: { L: [{ M: { x: { N: "1" }, y: { N: "2" } } }] } }],
    ["what is nested", { ...before, list: { L: [{ M: { y: { N: "2.0" } } }, { N: "1" }] } }],
  ])("is safe from anybody: %s", (_what, after) => {
    expect(audit({ before, after }, table)).toEqual({ kind: "aware" });
    const fence = { _f: { B: nonceOf(3) } };
    const underFence = { before: { ...before, ...fence }, after: { ...after, ...fence } };
    expect(audit(underFence, table)).toMatchObject({ write: "update", isUnderFence: true });
  });

  test.each<[string, Item]>([
    ["an attribute, and adds one", { ...withoutN, m: { N: "1" } }],
    ["elements, and turns others round", { ...before, list: { L: [{ M: {} }, { N: "2" }] } }],
    ["a member, and adds one", { ...before, tags: { SS: ["b", "c"] } }],
    ["a type", { ...before, tags: { NS: ["1"] } }],
  ])("is told when it changes more: %s", (_what, after) => {
    expect(audit({ before, after }, table)).toMatchObject({ kind: "unaware", write: "update" });
  });
});

test("a delete tells nothing, whoever makes it", () => {
  expect(auditOf({ ...key, _v: { N: "7" } }, (items) => items.put(key, undefined))).toEqual({
    kind: "delete",
  });
});

test("no value of an item is in what it says", () => {
  fc.assert(
    fc.property(stored, content, (before, attributes) => {
      const secret = "a value that nobody may read";
      const after = { ...attributes, ...key, [`name`]: { S: secret } };
      expect(JSON.stringify(audit({ before, after }, table))).not.toContain(secret);
    }),
  );
});

function fenceIn(item: Item | undefined): TransactionId | undefined {
  const fence = item?.["_f"];
  return fence !== undefined && "B" in fence
    ? (Buffer.from(fence.B).toString("hex") as TransactionId)
    : undefined;
}
