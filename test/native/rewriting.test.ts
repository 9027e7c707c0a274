/** What is added to inputs, as functions of them (docs/mixed-tables.md). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { WriteKind } from "../../expressions/write-kinds.ts";
import { guarded, projectingAll, projectingMark } from "../../native/expressions.ts";
import { sightOf, visible, withoutReserved } from "../../native/hidden.ts";
import { inStock, Nonces, tokenNonce } from "../../native/nonces.ts";
import { pathsOf, projected } from "../../native/projection.ts";
import { awareWrite, keyIn } from "../../native/writes.ts";

const table = { name: "rows", partitionKey: "pk", sortKey: "sk" };
const nonce = new Uint8Array(16).fill(7);
const key = { pk: { S: "p" }, sk: { S: "s" } };

describe("the fence's condition", () => {
  test("stands alone, or beside the user's in parentheses", () => {
    expect(guarded({ TableName: "rows" })).toEqual({
      TableName: "rows",
      ConditionExpression: "attribute_not_exists(#tidemark_f)",
      ExpressionAttributeNames: { "#tidemark_f": "_f" },
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    expect(
      guarded({
        ConditionExpression: "a = :a OR #b = :b",
        ExpressionAttributeNames: { "#b": "b" },
      }),
    ).toMatchObject({
      ConditionExpression: "attribute_not_exists(#tidemark_f) AND (a = :a OR #b = :b)",
      ExpressionAttributeNames: { "#b": "b", "#tidemark_f": "_f" },
    });
  });

  test.each([
    ["(a = :a)", "(a = :a)"],
    [" (a = :a AND b = :b) ", "(a = :a AND b = :b)"],
    ["((a = :a) AND b = :b)", "((a = :a) AND b = :b)"],
    ["(a = :a) OR (b = :b)", "((a = :a) OR (b = :b))"],
    ["contains(a, :a)", "(contains(a, :a))"],
    ["a IN (:a, :b)", "(a IN (:a, :b))"],
  ])("stands beside %s without a second pair around it", (ConditionExpression, beside) => {
    expect(guarded({ ConditionExpression })).toMatchObject({
      ConditionExpression: `attribute_not_exists(#tidemark_f) AND ${beside}`,
    });
  });

  test.each(["a = :a) OR (b = :b", "(a = :a", "a = :a)"])(
    "leaves to DynamoDB what is no condition: %s",
    (ConditionExpression) => {
      expect(guarded({ ConditionExpression }, nonce)).toEqual({ ConditionExpression });
    },
  );

  test("goes by an alias that the user has not", () => {
    const names = { "#tidemark_f": "a", "#tidemark_f_": "b" };
    expect(guarded({ ExpressionAttributeNames: names })).toMatchObject({
      ConditionExpression: "attribute_not_exists(#tidemark_f__)",
      ExpressionAttributeNames: { ...names, "#tidemark_f__": "_f" },
    });
  });
});

describe("the nonce of an update", () => {
  test.each([
    [undefined, "SET #tidemark_n = :tidemark_n"],
    ["SET a = :a", "SET #tidemark_n = :tidemark_n, a = :a"],
    ["REMOVE a set b = :b", "REMOVE a SET #tidemark_n = :tidemark_n, b = :b"],
    ["REMOVE a[1]SET\n b = :b", "REMOVE a[1]SET #tidemark_n = :tidemark_n,\n b = :b"],
    ["ADD offset_set :a", "ADD offset_set :a SET #tidemark_n = :tidemark_n"],
    ["SET#a=:a", "SET #tidemark_n = :tidemark_n,#a=:a"],
    ["REMOVE#a SET#b=:b", "REMOVE#a SET #tidemark_n = :tidemark_n,#b=:b"],
    ["ADD a :set REMOVE b", "ADD a :set REMOVE b SET #tidemark_n = :tidemark_n"],
  ])("%s", (UpdateExpression, expected) => {
    expect(guarded({ UpdateExpression }, nonce)).toEqual({
      ...guarded({}),
      UpdateExpression: expected,
      ExpressionAttributeNames: { "#tidemark_f": "_f", "#tidemark_n": "_n" },
      ExpressionAttributeValues: { ":tidemark_n": { B: nonce } },
    });
  });
});

test.each(["REMOVE a", "REMOVE #set", "remove a DELETE tags :set", "DELETE b :ADD", "", " "])(
  "an update that adds nothing, and so makes no item, gets none: %j",
  (UpdateExpression) => {
    const input = { Key: key, UpdateExpression };
    const aware = awareWrite("update", input, { table, nonce: () => nonce });
    expect(aware).toEqual(guarded(input));
  },
);

test.each(["SET #a = :a, #v = :a", "REMOVE #v", "ADD a :a SET b = :b DELETE #v :c"])(
  "an update that names a reserved attribute is refused by name: %s",
  (UpdateExpression) => {
    const names = { "#a": "a", "#v": "_v", "#unused": "_f" };
    const input = { Key: key, UpdateExpression, ExpressionAttributeNames: names };
    const aware = () => awareWrite("update", input, { table, nonce: () => nonce });
    expect(aware).toThrow(/table "rows" names the attribute "_v" as "#v"/u);
  },
);

describe("which writes are guarded", () => {
  test.each<[WriteKind, object, boolean]>([
    ["put", { Item: key }, false],
    ["put", { Item: key, ReturnValues: "NONE" }, false],
    ["put", { Item: key, ReturnValues: "ALL_OLD" }, true],
    ["put", { Item: key, ConditionExpression: "attribute_exists(pk)" }, true],
    ["delete", { Key: key }, false],
    ["delete", { Key: key, ReturnValues: "ALL_OLD" }, true],
    ["delete", { Key: key, ConditionExpression: "attribute_exists(pk)" }, true],
    ["update", { Key: key }, true],
  ])("a %s of %o: %s", (kind, input, isGuarded) => {
    const aware = JSON.stringify(awareWrite(kind, input, { table, nonce: () => nonce }));
    expect(aware.includes("attribute_not_exists")).toBe(isGuarded);
    expect(aware.includes('"_n"')).toBe(kind !== "delete");
    const always = awareWrite(kind, input, { table, nonce: () => nonce, always: true });
    expect(JSON.stringify(always)).toContain("attribute_not_exists");
    expect(keyIn(input, table)).toEqual(key);
  });
});

describe("a projection", () => {
  test("has the mark added once", () => {
    const names = { "#a": "a" };
    expect(
      projectingMark({ ProjectionExpression: "#a.b", ExpressionAttributeNames: names }),
    ).toEqual({
      ProjectionExpression: "#a.b, #tidemark_x",
      ExpressionAttributeNames: { ...names, "#tidemark_x": "_x" },
    });
    const own = { ProjectionExpression: "#x", ExpressionAttributeNames: { "#x": "_x" } };
    expect(projectingMark(own)).toBe(own);
  });

  test("goes with the aliases that only it uses", () => {
    const names = { "#a": "a", "#ab": "b", "#p": "pk" };
    const input = {
      ...{ ProjectionExpression: "#a", KeyConditionExpression: "#p = :p" },
      ...{ FilterExpression: "#ab = :a", ExpressionAttributeNames: names },
    };
    expect(projectingAll(input)).toEqual({
      KeyConditionExpression: "#p = :p",
      FilterExpression: "#ab = :a",
      ExpressionAttributeNames: { "#ab": "b", "#p": "pk" },
    });
    expect(projectingAll({ ProjectionExpression: "#a", ExpressionAttributeNames: names })).toEqual(
      {},
    );
  });

  test("is made of whole items of either form", () => {
    const wire = {
      ...{ pk: { S: "p" }, sk: { S: "s" }, a: { S: "x" } },
      m: { M: { x: { N: "1" }, y: { L: [{ S: "0" }, { S: "1" }, { M: { z: { S: "2" } } }] } } },
    };
    const plain = { pk: "p", sk: "s", a: "x", m: { x: 1, y: ["0", "1", { z: "2" }] } };
    const paths = pathsOf("#a, m.#y[2].z, m.y[0], m.none, none[1], a.b, pk[0]", {
      "#a": "a",
      "#y": "y",
    });
    expect(projected(wire, paths, "pk")).toEqual({
      a: { S: "x" },
      m: { M: { y: { L: [{ S: "0" }, { M: { z: { S: "2" } } }] } } },
    });
    expect(projected(plain, paths, "pk")).toEqual({ a: "x", m: { y: ["0", { z: "2" }] } });
  });

  test("of names that objects inherit takes what is there", () => {
    const item = Object.fromEntries([
      ["pk", { S: "p" }],
      ["__proto__", { S: "own" }],
    ]);
    const paths = pathsOf("#p, #c", { "#p": "__proto__", "#c": "constructor" });
    expect(Object.entries(projected(item, paths, "pk"))).toEqual([["__proto__", { S: "own" }]]);
  });
});

describe("what is shown", () => {
  const reserved = { _v: { N: "5" }, _n: { B: nonce }, _f: { B: nonce }, _b: { S: "" } };
  const marks = [{ _x: { BOOL: true } }, { _x: true }];

  test("is without reserved attributes, of either form", () => {
    expect(withoutReserved({ ...key, ...reserved, _x: { BOOL: false } })).toEqual(key);
    expect(withoutReserved({ pk: "p", _n: nonce, _x: true })).toEqual({ pk: "p" });
    const own = { ...key, _id: { S: "a" }, n_: { S: "b" } };
    expect(withoutReserved(own)).toBe(own);
    expect(visible({ ...key, _x: { S: "true" } }, table)).toEqual(key);
  });

  test.each(marks)("is nothing where %o marks a key alone", (mark) => {
    expect(visible({ ...key, ...reserved, ...mark }, table)).toBeUndefined();
    expect(visible({ ...key, ...mark, a: { S: "" } }, table)).toEqual({ ...key, a: { S: "" } });
    expect(sightOf({ ...mark }, table, false)).toBe("unsure");
    expect(sightOf({ ...mark, a: "x" }, table, false)).toBe("shown");
    expect(sightOf({}, table, false)).toBe("shown");
  });
});

describe("nonces", () => {
  const counting = () => {
    let made = 0;
    return new Nonces((length) => new Uint8Array(length).fill((made += 1)));
  };
  const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

  test("are others in each try, in a request of the same length", () => {
    for (const isText of [true, false]) {
      const nonces = counting();
      const [one, two] = [nonces.next(), nonces.next()];
      const text = JSON.stringify({ a: base64(one), b: base64(two), c: "é" });
      const body = isText ? text : new TextEncoder().encode(text);
      const asText = (sent: string | Uint8Array): string =>
        typeof sent === "string" ? sent : new TextDecoder().decode(sent);
      nonces.begin();
      expect(nonces.forTry(body)).toBe(body);
      const tries = [nonces.forTry(body), nonces.forTry(body)].map(asText);
      const seen = [text, ...tries].flatMap((each) => {
        const { a, b, c } = JSON.parse(each) as Record<"a" | "b" | "c", string>;
        expect([each.length, c]).toEqual([text.length, "é"]);
        return [a, b];
      });
      expect(new Set(seen).size).toBe(6);
      expect(asText(body)).toBe(text);
    }
  });

  test("come from a stock, each byte once", () => {
    let asked = 0;
    const bytes = inStock((length) => {
      asked += 1;
      return Uint8Array.from({ length }, (_, i) => (i >> 4) + 64 * (asked - 1));
    });
    const made = Array.from({ length: 130 }, () => bytes(16));
    expect(made.map((each) => [...new Set(each)])).toEqual(made.map((_, i) => [i]));
    expect(asked).toBe(3);
    expect(made.every((each) => each.length === 16 && each.buffer.byteLength === 16)).toBe(true);
    expect(bytes(5_000)).toHaveLength(5_000);
  });

  test("by a token are the same for the same part, and for no other", () => {
    const part = fc.record({ token: fc.string(), item: fc.dictionary(fc.string(), fc.string()) });
    fc.assert(
      fc.property(part, part, (a, b) => {
        const [first, again] = [tokenNonce(a.token, a.item), tokenNonce(a.token, { ...a.item })];
        expect(first).toEqual(again);
        expect(first).toHaveLength(16);
        const text = ({ token, item }: typeof a) =>
          JSON.stringify([token, Object.entries(item).sort()]);
        const isSame = text(a) === text(b);
        expect(base64(tokenNonce(b.token, b.item)) === base64(first)).toBe(isSame);
      }),
    );
  });

  test("by a token are those of the same part, however it is written down", () => {
    const part = (Item: object) => ({ Put: { TableName: "rows", Item } });
    const set = { SS: ["a", "b"] };
    const item = { pk: { S: "p" }, data: { B: new Uint8Array([1, 2]) }, set, m: { M: { x: set } } };
    const first = tokenNonce("t", part(item));
    const { pk, ...rest } = item;
    const same = [
      { ...rest, pk },
      { ...item, set: { SS: ["b", "a"] } },
      { ...item, data: { B: Buffer.from([1, 2]) }, none: undefined },
    ];
    for (const each of same) expect(tokenNonce("t", part(each))).toEqual(first);
    const others = [
      { ...item, data: { B: new Uint8Array([1, 3]) } },
      { ...item, set: { SS: ["a"] } },
      { ...item, m: { L: [set] } },
    ];
    for (const each of others) expect(tokenNonce("t", part(each))).not.toEqual(first);
  });
});
