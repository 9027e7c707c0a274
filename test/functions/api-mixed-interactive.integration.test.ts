/**
 * Interactive transactions over mixed tables, from instance to instance, beside native writers, on
 * real protocol servers (docs/adr/0014-native-operations.md; I10): what was read in one call is
 * made sure of by the commit, whichever instance that comes to.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { Ports } from "../../core/ports.ts";
import type { TableDescription } from "../../core/types.ts";
import { createApi } from "../../functions/api/service.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { Native } from "../integration/mixed/native.ts";
import { key, number } from "../integration/support.ts";
import { callerOf, type Answer, type Caller } from "./fixtures/api-harness.ts";

let deployment: LocalDeployment;
let native: Native;
let rows: TableDescription;
let sorted: TableDescription;
let plain: TableDescription;
/** Instances that share nothing but the deployment; one commits by the stream, one by blocks. */
let here: Caller;
let there: Caller;

function open(ports: Partial<Ports> = {}, commit: "stream" | "express" = "stream"): Caller {
  const { control, clock, random } = deployment.stores.ports;
  const logger = { info: () => undefined, error: () => undefined };
  const engine = deployment.openEngine({ ports, commit });
  return callerOf(createApi({ engine, control, clock, random, logger }));
}

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  const sortKey = { name: "sk", type: "S" } as const;
  [rows, sorted, plain] = await Promise.all([
    stores.createTable("rows", { access: "mixed" }),
    stores.createTable("sorted", { access: "mixed", sortKey }),
    stores.createTable("plain"),
  ]);
  native = new Native(stores);
  [here, there] = [open(), open({}, "express")];
});

afterAll(async () => {
  native.close();
  await deployment.stop();
});

const of = (pk: string, table = rows) => ({ table: table.name, key: { pk } });
const put = (pk: string, n: number, table = rows) => {
  return { op: "put", table: table.name, item: { pk, n } };
};
const tokenOf = (answer: Answer): string => {
  expect(answer.status).toBe(200);
  return String(answer.body["transaction"]);
};

async function begin(reads: object, by = here): Promise<string> {
  return tokenOf(await by("/v1/transactions/begin", { reads }));
}
async function readOn(transaction: string, reads: object, by = there): Promise<Answer> {
  return by("/v1/transactions/read", { transaction, reads });
}
async function commit(transaction: string, writes: readonly object[] = [], by = there) {
  return by("/v1/transactions/commit", { transaction, writes });
}
function expectNativeConflict(answer: Answer, conflict: object): void {
  expect(answer).toMatchObject({
    status: 409,
    body: { code: "conflict", outcome: "aborted", conflict: { foundBy: "native", ...conflict } },
  });
}
const item = async (pk: string, table = rows) => {
  const answer = await here("/v1/snapshots", { reads: { gets: [of(pk, table)] } });
  return (answer.body["reads"] as { gets: readonly unknown[] }).gets[0];
};

describe("what one call has read and another one commits on", () => {
  test("unchanged, it is committed, and what it read may be what it writes", async () => {
    await native.put(rows, { ...key("a read"), n: number(1) });
    await native.put(rows, { ...key("a written"), n: number(2) });
    const gets = [of("a read"), of("a written"), of("a absent")];
    const answer = await commit(await begin({ gets }), [put("a written", 3), put("a absent", 4)]);
    expect(answer.status).toBe(200);
    expect(answer.body["receipt"]).not.toHaveProperty("local");
    // Three that are read again, and one that is once more, since no fence stands there. DynamoDB
    // Local reports one unit less than dynalite.
    const { readUnits } = (answer.body["receipt"] as { consumed: { readUnits: number } }).consumed;
    expect([3, 4]).toContain(readUnits);
    expect(await item("a written")).toEqual({ pk: "a written", n: 3 });
    expect(await item("a absent")).toEqual({ pk: "a absent", n: 4 });
  });

  test.each([
    ["read only", "b other"],
    ["written, too", "b item"],
  ])("changed natively, it is a conflict: an item that is %s", async (_, written) => {
    await native.put(rows, { ...key("b item"), n: number(1) });
    const token = await begin({ gets: [of("b item")] });
    await native.addUnaware(rows, key("b item"), 1);
    const answer = await commit(token, [put(written, 7)]);
    expectNativeConflict(answer, { table: rows.name, key: { pk: "b item" }, on: "key" });
    expect(await item("b other")).toBe(null);
  });

  test("absent items are remembered as absent", async () => {
    const token = await begin({ gets: [of("c absent")] });
    await native.put(rows, key("c absent"));
    expectNativeConflict(await commit(token, [put("c other", 1)]), { key: { pk: "c absent" } });
  });

  test("contents count, not who has written them again", async () => {
    await native.put(rows, { ...key("d item"), n: number(1) });
    const token = await begin({ gets: [of("d item")] });
    await native.delete(rows, key("d item"));
    await native.put(rows, { ...key("d item"), n: number(1) });
    expect((await commit(token, [put("d other", 1)])).status).toBe(200);
  });

  test("a transaction's write is a conflict as well", async () => {
    await native.put(rows, { ...key("e item"), n: number(1) });
    const token = await begin({ gets: [of("e item")] });
    await here("/v1/transactions", { writes: [put("e item", 2), put("e beside", 2)] });
    expect((await commit(token, [put("e other", 1)])).status).toBe(409);
  });

  test.each([
    ["an item", "key"],
    ["a page", "table"],
  ])("changed while it commits, behind the fences, %s is a conflict, too", async (what, on) => {
    await native.put(rows, { ...key("f item"), n: number(1) });
    const reads = what === "an item" ? { gets: [of("f item")] } : { scans: [{ table: rows.name }] };
    const token = await begin(reads);
    const { ports } = deployment.stores;
    const interrupted = open({
      mixed: {
        ...ports.mixed,
        fence: async (request, options) => {
          const answer = await ports.mixed.fence(request, options);
          await native.put(rows, { ...key("f item"), n: number(2) });
          return answer;
        },
      },
    });
    expectNativeConflict(await commit(token, [put("f other", 1)], interrupted), { on });
    expect(await item("f other")).toBe(null);
  });

  test("it goes on from call to call, beside what is read of transactional tables", async () => {
    await native.put(rows, { ...key("g first"), n: number(1) });
    await here("/v1/transactions", { writes: [put("g second", 2, plain)] });
    const first = await begin({ gets: [of("g first")] });
    const second = tokenOf(await readOn(first, { gets: [of("g second", plain)] }));
    const third = tokenOf(await readOn(second, { gets: [of("g third")] }, here));
    const writes = [put("g third", 3), put("g second", 3, plain)];
    expect((await commit(third, writes)).status).toBe(200);
  });

  test("read once more in a later call, another content is a conflict at once", async () => {
    await native.put(rows, { ...key("h item"), n: number(1) });
    const token = await begin({ gets: [of("h item")] });
    const same = await readOn(token, { gets: [of("h item")] });
    expect(same.body["reads"]).toMatchObject({ gets: [{ pk: "h item", n: 1 }] });
    await native.put(rows, { ...key("h item"), n: number(2) });
    expectNativeConflict(await readOn(tokenOf(same), { gets: [of("h item")] }), {
      key: { pk: "h item" },
    });
  });

  test("a condition in the commit on an item that was read counts the same", async () => {
    await native.put(rows, { ...key("i item"), n: number(1) });
    const token = await begin({ gets: [of("i item")] });
    await native.put(rows, { ...key("i item"), n: number(2) });
    const conditions = [{ ...of("i item"), condition: { attributes: { n: { eq: 2 } } } }];
    const answer = await there("/v1/transactions/commit", {
      ...{ transaction: token, conditions },
      writes: [put("i other", 1)],
    });
    expectNativeConflict(answer, { key: { pk: "i item" } });
  });

  test("it commits once: a second commit is told of the first", async () => {
    await native.put(rows, { ...key("j item"), n: number(1) });
    const token = await begin({ gets: [of("j item")] });
    const first = await commit(token, [put("j item", 2)]);
    const { transactionId } = first.body["receipt"] as { transactionId: string };
    const second = await commit(token, [put("j item", 3)], here);
    expect(second).toMatchObject({
      status: 409,
      body: { code: "already-committed", transactionId },
    });
    const settled = await here(`/v1/transactions/${transactionId}/outcome`, {});
    expect(settled.body).toMatchObject({ outcome: "committed" });
    expect(await item("j item")).toEqual({ pk: "j item", n: 2 });
  });
});

test("increments of interactive transactions and of native writers all count", async () => {
  await native.put(rows, { ...key("counter"), n: number(0) });
  const [transactions, natives] = [3, 8];
  const increment = async (by: Caller, to: Caller): Promise<void> => {
    for (let tries = 0; tries < 200; tries += 1) {
      const begun = await by("/v1/transactions/begin", { reads: { gets: [of("counter")] } });
      const { gets } = begun.body["reads"] as { gets: readonly [{ n: number }] };
      const writes = [put("counter", gets[0].n + 1), put(`counted ${gets[0].n}`, 1, plain)];
      const answer = await commit(tokenOf(begun), writes, to);
      if (answer.status === 200) return;
      expect(answer.status).toBe(409);
    }
    throw new Error("it never came through");
  };
  const byTransactions = [
    [here, there],
    [there, here],
  ].map(async ([by = here, to = here]) => {
    for (let i = 0; i < transactions; i += 1) await increment(by, to);
  });
  const byNatives = (async () => {
    for (let i = 0; i < natives; i += 1) await native.add(rows, key("counter"), 1);
  })();
  await Promise.all([...byTransactions, byNatives]);
  expect(await item("counter")).toEqual({ pk: "counter", n: 2 * transactions + natives });
});

describe("an end without writes", () => {
  test("says whether all that was read was true at one moment", async () => {
    await native.put(rows, { ...key("k left"), n: number(1) });
    await native.put(rows, { ...key("k right"), n: number(1) });
    const first = await begin({ gets: [of("k left")] });
    const whole = tokenOf(await readOn(first, { gets: [of("k right")] }));
    expect(await commit(whole)).toMatchObject({
      status: 200,
      body: { receipt: { transactionId: null } },
    });
    await native.put(rows, { ...key("k left"), n: number(2) });
    await native.put(rows, { ...key("k right"), n: number(2) });
    const torn = await readOn(first, { gets: [of("k right")] }, here);
    expect(torn.body["reads"]).toMatchObject({ gets: [{ pk: "k right", n: 2 }] });
    expectNativeConflict(await commit(tokenOf(torn)), { key: { pk: "k left" } });
  });
});

describe("pages", () => {
  const row = (partition: string, sk: string) => ({ ...key(partition, sk), n: number(1) });
  const fill = async (partition: string, sortKeys: readonly string[]): Promise<void> => {
    for (const sk of sortKeys) await native.put(sorted, row(partition, sk));
  };
  const query = (partition: string, more: object = {}) => {
    return { queries: [{ table: sorted.name, partitionKey: partition, ...more }] };
  };
  const pageOf = (answer: Answer) => {
    const { queries } = answer.body["reads"] as {
      queries: readonly { items: readonly { sk: string }[]; cursor?: string }[];
    };
    return { rows: queries[0]?.items.map(({ sk }) => sk), cursor: queries[0]?.cursor };
  };

  test.each<[string, object, readonly string[]]>([
    ["all", {}, ["a", "b", "c", "d"]],
    ["descending", { descending: true, limit: 2 }, ["d", "c"]],
    ["between", { sortKey: { between: ["b", "c"] } }, ["b", "c"]],
    ["from", { sortKey: { gte: "b" }, limit: 1 }, ["b"]],
    ["prefix", { sortKey: { beginsWith: "c" } }, ["c"]],
  ])("unchanged rows are committed on, a changed one is a conflict: %s", async (name, how, sks) => {
    await fill(name, ["a", "b", "c", "d"]);
    const begun = await here("/v1/transactions/begin", { reads: query(name, how) });
    expect(pageOf(begun).rows).toEqual(sks);
    const token = tokenOf(begun);
    const outside = ["a", "d"].filter((sk) => !sks.includes(sk));
    for (const sk of outside) await native.addUnaware(sorted, key(name, sk), 1);
    const read = tokenOf(await readOn(token, { gets: [of(`${name} other`)] }));
    expect((await commit(read)).status).toBe(200);
    await native.addUnaware(sorted, key(name, sks.at(-1)), 1);
    expectNativeConflict(await commit(read, [put(`${name} other`, 1)]), {
      ...{ on: "partition", table: sorted.name, key: { pk: name } },
    });
  });

  test("a row that enters a page, or leaves it, is a conflict; one behind it is none", async () => {
    await fill("phantom", ["b", "d", "f"]);
    const begun = await here("/v1/transactions/begin", { reads: query("phantom", { limit: 2 }) });
    const token = tokenOf(begun);
    const read = tokenOf(await readOn(token, { gets: [of("phantom other")] }));
    await native.put(sorted, row("phantom", "e"));
    expect((await commit(read)).status).toBe(200);
    await native.put(sorted, row("phantom", "c"));
    expectNativeConflict(await commit(read), { on: "partition" });
    await native.delete(sorted, key("phantom", "c"));
    expect((await commit(read)).status).toBe(200);
    await native.delete(sorted, key("phantom", "b"));
    expectNativeConflict(await commit(read), { on: "partition" });
  });

  test("pages of a pass over several calls guard all of its rows", async () => {
    await fill("pass", ["a", "b", "c"]);
    const first = await here("/v1/transactions/begin", { reads: query("pass", { limit: 2 }) });
    const { cursor } = pageOf(first);
    const second = await readOn(tokenOf(first), query("pass", { limit: 2, cursor }));
    expect([pageOf(first).rows, pageOf(second)]).toEqual([
      ["a", "b"],
      { rows: ["c"], cursor: undefined },
    ]);
    const token = tokenOf(second);
    await native.put(sorted, row("pass", "d"));
    expectNativeConflict(await commit(token, [put("pass sum", 3)]), { on: "partition" });
    await native.delete(sorted, key("pass", "d"));
    expect((await commit(token, [put("pass sum", 3)])).status).toBe(200);
  });

  test("a scan guards its table", async () => {
    const scan = { scans: [{ table: sorted.name }] };
    const token = await begin(scan);
    await native.put(sorted, row("anywhere", "z"));
    expectNativeConflict(await commit(token, [put("scan sum", 1)]), {
      ...{ on: "table", table: sorted.name },
    });
    expect((await commit(await begin(scan), [put("scan sum", 1)])).status).toBe(200);
  });
});

describe("bounds", () => {
  test("keys that were read of mixed tables count towards a transaction's keys", async () => {
    const token = await begin({ gets: [of("count 1"), of("count 2")] });
    const gets = Array.from({ length: limits.transactionKeysMax - 1 }, (_, i) => of(`x ${i}`));
    expect(await readOn(token, { gets })).toMatchObject({
      status: 413,
      body: { code: "transaction-too-large", limit: { name: "transactionKeysMax" } },
    });
  });

  test("what would not fit into a token is refused by the limit's name", async () => {
    const gets = Array.from({ length: 600 }, (_, i) => of(`${i} `.padEnd(1_024, "x")));
    expect(await here("/v1/transactions/begin", { reads: { gets } })).toMatchObject({
      status: 413,
      body: { code: "transaction-too-large", limit: { name: "restTokenLengthMax" } },
    });
  });

  test("no flipped bit of what was read is taken", async () => {
    const token = await begin({ gets: [of("tampered")] });
    const bytes = Buffer.from(token, "base64url");
    for (let at = 50; at < bytes.length - 32; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const answer = await commit(changed.toString("base64url"), [put("tampered", 1)]);
      expect(answer).toMatchObject({ status: 422, body: { code: "invalid-token" } });
    }
  });
});
