/** The REST service by claim: every endpoint, on an engine that executes. */
import { describe, expect, test } from "vitest";
import {
  accountItem,
  balances,
  deposit,
  memoryApi,
  type Answer,
  type Caller,
} from "./fixtures/api-harness.ts";

const ada = { table: "accounts", key: { account: "ada" } };
const bob = { table: "accounts", key: { account: "bob" } };

type Receipt = { transactionId: string | null; replayed: boolean; attempts: number };
const receiptOf = (answer: Answer): Receipt => answer.body["receipt"] as Receipt;
const readsOf = (answer: Answer) =>
  answer.body["reads"] as {
    gets: unknown[];
    queries: { items: unknown[]; cursor?: string }[];
    scans: { items: unknown[]; cursor?: string }[];
  };

function transfer(amount: number) {
  return {
    writes: [
      {
        op: "update",
        ...ada,
        add: { balanceCents: -amount },
        condition: { attributes: { balanceCents: { gte: amount } } },
      },
      { op: "update", ...bob, add: { balanceCents: amount } },
    ],
  };
}

async function fillEntries(call: Caller, count: number): Promise<void> {
  const writes = Array.from({ length: count }, (_, index) => ({
    op: "put",
    table: "entries",
    item: { account: "ada", number: index + 1, text: `entry ${(index + 1).toString()}` },
  }));
  expect((await call("/v1/transactions", { writes })).status).toBe(200);
}

describe("one-shot transaction", () => {
  test("moves money exactly once and answers with a receipt", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 500, bob: 0 });
    const answer = await call("/v1/transactions", transfer(300));
    expect(answer.status).toBe(200);
    expect(receiptOf(answer)).toMatchObject({ attempts: 1, replayed: false });
    expect(receiptOf(answer).transactionId).toMatch(/^[0-9a-f]{32}$/);
    expect(await balances(call, "ada", "bob")).toEqual([200, 300]);
  });

  test("reads and conditions see the state before the writes", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 500 });
    const answer = await call("/v1/transactions", {
      reads: { gets: [ada, bob] },
      conditions: [{ ...bob, condition: { exists: false } }],
      writes: [
        { op: "put", table: "accounts", item: accountItem("bob", 7) },
        { op: "delete", ...ada },
      ],
    });
    expect(readsOf(answer).gets).toEqual([accountItem("ada", 500), null]);
    expect(await balances(call, "ada", "bob")).toEqual([undefined, 7]);
  });

  test("applies several writes to one item in order and returns the last state", async () => {
    const { call } = memoryApi();
    const answer = await call("/v1/transactions", {
      returnItems: true,
      writes: [
        { op: "put", table: "accounts", item: { account: "ada", balanceCents: 1, note: "old" } },
        { op: "update", ...ada, add: { balanceCents: 2 }, set: { tag: "x" }, remove: ["note"] },
        { op: "update", ...bob, add: { balanceCents: 0.1 } },
        { op: "update", ...bob, add: { balanceCents: 0.2 } },
      ],
    });
    const first = { account: "ada", balanceCents: 3, tag: "x" };
    const second = { account: "bob", balanceCents: 0.3 };
    expect(answer.body["written"]).toEqual([first, first, second, second]);
    expect(await balances(call, "ada", "bob")).toEqual([3, 0.3]);
  });

  test("retries a conflict itself", async () => {
    const { call, engine } = memoryApi();
    await deposit(call, { ada: 500, bob: 0 });
    engine.interfere = async () => {
      await call("/v1/transactions", transfer(100));
    };
    const answer = await call("/v1/transactions", transfer(300));
    expect(receiptOf(answer).attempts).toBe(2);
    expect(await balances(call, "ada", "bob")).toEqual([100, 400]);
  });

  test("commits nothing for reads alone", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 500 });
    const answer = await call("/v1/transactions", { reads: { gets: [ada] } });
    expect(receiptOf(answer).transactionId).toBeNull();
  });

  test("refuses a failed condition with 412, which one, and the item as it stands", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 200, bob: 0 });
    const answer = await call("/v1/transactions", transfer(300));
    expect(answer.status).toBe(412);
    expect(answer.body).toMatchObject({
      code: "condition-failed",
      retryable: false,
      outcome: "aborted",
      field: "writes[0].condition.attributes.balanceCents",
      condition: {
        list: "writes",
        index: 0,
        attribute: "balanceCents",
        table: "accounts",
        key: { account: "ada" },
        currentItem: accountItem("ada", 200),
      },
    });
    expect(await balances(call, "ada", "bob")).toEqual([200, 0]);
  });

  test.each([
    [{ exists: true }, true],
    [{ exists: false }, false],
    [{ attributes: { n: { eq: 5 } } }, true],
    [{ attributes: { n: { eq: 5.5 } } }, false],
    [{ attributes: { n: { ne: 5 } } }, false],
    [{ attributes: { missing: { ne: 5 } } }, true],
    [{ attributes: { missing: { eq: 5 } } }, false],
    [{ attributes: { missing: { exists: false } } }, true],
    [{ attributes: { n: { gt: 4, lt: 6, gte: 5, lte: 5 } } }, true],
    [{ attributes: { n: { gt: 5 } } }, false],
    [{ attributes: { n: { lt: "6" } } }, false],
    [{ attributes: { n: { gt: -10 } } }, true],
    [{ attributes: { s: { beginsWith: "te" } } }, true],
    [{ attributes: { s: { beginsWith: "ex" } } }, false],
    [{ attributes: { s: { in: ["a", "text"] } } }, true],
    [{ attributes: { s: { in: ["a", "b"] } } }, false],
    [{ attributes: { s: { gte: "tex" } } }, true],
    [{ attributes: { set: { eq: { $typed: { NS: ["2.0", "1"] } } } } }, true],
    [{ attributes: { map: { eq: { b: [1, { c: null }], a: true } } } }, true],
    [{ attributes: { map: { eq: { b: [1, { c: false }], a: true } } } }, false],
    [{ attributes: { bytes: { beginsWith: { $typed: { B: "AQI=" } } } } }, true],
    [{ attributes: { constructor: { exists: false } } }, true],
  ])("judges %j as %s", async (condition, holds) => {
    const { call } = memoryApi();
    const item = {
      account: "ada",
      n: 5,
      s: "text",
      set: { $typed: { NS: ["1", "2"] } },
      map: { a: true, b: [1, { c: null }] },
      bytes: { $typed: { B: "AQID" } },
    };
    await call("/v1/transactions", { writes: [{ op: "put", table: "accounts", item }] });
    const answer = await call("/v1/transactions", { conditions: [{ ...ada, condition }] });
    expect(answer.status).toBe(holds ? 200 : 412);
  });
});

describe("interactive transaction", () => {
  test("reads over several calls and commits on the last token", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 500, bob: 0 });
    const begun = await call("/v1/transactions/begin", { reads: { gets: [ada] } });
    expect(readsOf(begun).gets).toEqual([accountItem("ada", 500)]);
    const read = await call("/v1/transactions/read", {
      transaction: begun.body["transaction"],
      reads: { gets: [bob] },
    });
    expect(read.body["readTimestamp"]).toBe(begun.body["readTimestamp"]);
    const committed = await call("/v1/transactions/commit", {
      transaction: read.body["transaction"],
      writes: [
        { op: "put", table: "accounts", item: accountItem("ada", 0) },
        { op: "put", table: "accounts", item: accountItem("bob", 500) },
      ],
    });
    expect(committed.status).toBe(200);
    expect(await balances(call, "ada", "bob")).toEqual([0, 500]);
  });

  test("holds nothing in the process between calls, whether they succeed or fail", async () => {
    const { call, engine } = memoryApi();
    await deposit(call, { ada: 100 });
    const begun = await call("/v1/transactions/begin", { reads: { gets: [ada] } });
    const { transaction } = begun.body;
    const wrong = { gets: [{ table: "nowhere", key: { account: "ada" } }] };
    expect((await call("/v1/transactions/read", { transaction, reads: wrong })).status).toBe(422);
    expect((await call("/v1/transactions/commit", { transaction, ...transfer(300) })).status).toBe(
      412,
    );
    expect((await call("/v1/transactions/commit", { transaction, ...transfer(100) })).status).toBe(
      200,
    );
    expect(engine.held()).toBe(0);
  });

  test("keeps reading one state while others commit", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 500, bob: 0 });
    const begun = await call("/v1/transactions/begin", {});
    await call("/v1/transactions", transfer(300));
    const read = await call("/v1/transactions/read", {
      transaction: begun.body["transaction"],
      reads: { gets: [ada, bob] },
    });
    expect(readsOf(read).gets).toEqual([accountItem("ada", 500), accountItem("bob", 0)]);
  });

  test("aborts with 409 when an item read in an earlier call was overwritten", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 500, bob: 0 });
    const begun = await call("/v1/transactions/begin", { reads: { gets: [ada] } });
    await call("/v1/transactions", transfer(300));
    const answer = await call("/v1/transactions/commit", {
      transaction: begun.body["transaction"],
      writes: [{ op: "put", table: "accounts", item: accountItem("ada", 400) }],
    });
    expect(answer.status).toBe(409);
    expect(answer.headers.get("Retry-After")).toBe("1");
    expect(answer.body).toMatchObject({
      code: "conflict",
      retryable: true,
      conflict: { on: "key", table: "accounts", key: { account: "ada" } },
    });
    expect(await balances(call, "ada")).toEqual([200]);
  });

  test("aborts with 409 when a row entered a partition that an earlier call queried", async () => {
    const { call } = memoryApi();
    await fillEntries(call, 2);
    const begun = await call("/v1/transactions/begin", {
      reads: { queries: [{ table: "entries", partitionKey: "ada" }] },
    });
    await call("/v1/transactions", {
      writes: [{ op: "put", table: "entries", item: { account: "ada", number: 3 } }],
    });
    const answer = await call("/v1/transactions/commit", {
      transaction: begun.body["transaction"],
      writes: [{ op: "put", table: "accounts", item: accountItem("ada", 2) }],
    });
    expect(answer.status).toBe(409);
    expect(await balances(call, "ada")).toEqual([undefined]);
  });

  test("judges conditions at commit against the transaction's own state", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 100 });
    const begun = await call("/v1/transactions/begin", {});
    const answer = await call("/v1/transactions/commit", {
      transaction: begun.body["transaction"],
      ...transfer(300),
    });
    expect(answer.status).toBe(412);
  });
});

describe("queries, scans and pages", () => {
  test("walks a partition by cursor within one transaction", async () => {
    const { call } = memoryApi();
    await fillEntries(call, 5);
    const query = { table: "entries", partitionKey: "ada", limit: 2 };
    let answer = await call("/v1/transactions/begin", { reads: { queries: [query] } });
    const seen: unknown[] = [];
    for (;;) {
      const page = readsOf(answer).queries[0];
      seen.push(...(page?.items ?? []).map((item) => (item as { number: number }).number));
      if (page?.cursor === undefined) break;
      answer = await call("/v1/transactions/read", {
        transaction: answer.body["transaction"],
        reads: { queries: [{ ...query, cursor: page.cursor }] },
      });
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  test.each([
    [{ eq: 3 }, [3]],
    [{ lt: 3 }, [1, 2]],
    [{ lte: 3 }, [1, 2, 3]],
    [{ gt: 3 }, [4]],
    [{ gte: 3 }, [3, 4]],
    [{ between: [2, 3] }, [2, 3]],
  ])("selects rows by sort key %j", async (sortKey, numbers) => {
    const { call } = memoryApi();
    await fillEntries(call, 4);
    const answer = await call("/v1/snapshots", {
      reads: { queries: [{ table: "entries", partitionKey: "ada", sortKey }] },
    });
    const items = readsOf(answer).queries[0]?.items as { number: number }[];
    expect(items.map(({ number }) => number)).toEqual(numbers);
  });

  test("queries an index by the attributes that the request names, newest first", async () => {
    const { call } = memoryApi();
    await fillEntries(call, 3);
    const answer = await call("/v1/snapshots", {
      reads: {
        queries: [
          {
            table: "entries",
            index: { name: "by-account", partitionKey: "account", sortKey: "text" },
            partitionKey: "ada",
            sortKey: { beginsWith: "entry" },
            descending: true,
          },
        ],
        scans: [{ table: "entries", limit: 2 }],
      },
    });
    const [page] = readsOf(answer).queries;
    expect(page?.items.map((item) => (item as { number: number }).number)).toEqual([3, 2, 1]);
    expect(readsOf(answer).scans[0]?.items).toHaveLength(2);
    expect(readsOf(answer).scans[0]?.cursor).toBeTypeOf("string");
  });
});

describe("snapshot, outcome, health", () => {
  test("reads an earlier state at its timestamp", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 500, bob: 0 });
    const before = await call("/v1/snapshots", { reads: { gets: [ada] } });
    await call("/v1/transactions", transfer(300));
    const asOf = before.body["readTimestamp"];
    const answer = await call("/v1/snapshots", { asOf, reads: { gets: [ada, bob] } });
    expect(answer.body).toEqual({
      readTimestamp: asOf,
      reads: { gets: [accountItem("ada", 500), accountItem("bob", 0)], queries: [], scans: [] },
    });
  });

  test("settles outcomes: committed stays committed, undecided is aborted for good", async () => {
    const { call } = memoryApi();
    const { transactionId } = receiptOf(await deposit(call, { ada: 1 }));
    const committed = await call(`/v1/transactions/${transactionId ?? ""}/outcome`, {});
    expect(committed.body).toMatchObject({ outcome: "committed", transactionId });
    const id = `060a24181e4001${"f".repeat(18)}`;
    const aborted = await call(`/v1/transactions/${id}/outcome`, undefined, { method: "POST" });
    expect(aborted.body).toEqual({ outcome: "aborted", transactionId: id });
  });

  test("is healthy, and says deeply which store is not", async () => {
    const { call, control } = memoryApi();
    expect((await call("/v1/health")).body).toEqual({ status: "ok" });
    const deep = await call("/v1/health?deep=true");
    expect(deep.body).toMatchObject({ status: "ok", checks: { control: { ok: true } } });
    control.failures.push(new Error("the table is gone"));
    const failed = await call("/v1/health?deep=true");
    expect(failed.status).toBe(503);
    expect(failed.body).toMatchObject({ checks: { control: { ok: false }, log: { ok: true } } });
  });
});

describe("Idempotency-Key", () => {
  const keyed = (key: string) => ({ headers: { "Idempotency-Key": key } });

  test("answers a repeat of a one-shot with the first answer, marked, unrun", async () => {
    const { call, engine } = memoryApi();
    await deposit(call, { ada: 500, bob: 0 });
    const request = { ...transfer(300), reads: { gets: [ada] }, returnItems: true };
    const first = await call("/v1/transactions", request, keyed("k1"));
    const bodies = engine.bodies();
    const repeat = await call("/v1/transactions", request, keyed("k1"));
    expect(repeat.headers.get("Idempotency-Replayed")).toBe("true");
    expect(first.headers.get("Idempotency-Replayed")).toBeNull();
    expect(engine.bodies()).toBe(bodies);
    const receipt = { ...receiptOf(first), replayed: true };
    expect(repeat.body).toEqual({ ...first.body, receipt });
    expect(await balances(call, "ada", "bob")).toEqual([200, 300]);
  });

  test("takes a repeat whose members stand in another order for the same request", async () => {
    const { call } = memoryApi();
    const write = '"writes":[{"op":"put","table":"accounts","item":{"account":"ada","n":1}}]';
    await call("/v1/transactions", `{"ack":"installed",${write}}`, keyed("k"));
    const repeat = await call("/v1/transactions", `{ ${write} , "format":"json"}`, keyed("k"));
    expect(repeat.status).toBe(200);
    expect(repeat.headers.get("Idempotency-Replayed")).toBe("true");
  });

  test("refuses the key for another request with 422, one-shot and commit alike", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 500, bob: 0 });
    await call("/v1/transactions", transfer(300), keyed("k1"));
    const other = await call("/v1/transactions", transfer(100), keyed("k1"));
    expect(other.status).toBe(422);
    expect(other.body).toMatchObject({ code: "idempotency-key-reused", field: "Idempotency-Key" });
    const begun = await call("/v1/transactions/begin", {});
    const { transaction } = begun.body;
    const commit = await call(
      "/v1/transactions/commit",
      { transaction, ...transfer(300) },
      keyed("k1"),
    );
    expect(commit.body["code"]).toBe("idempotency-key-reused");
    expect(await balances(call, "ada")).toEqual([200]);
  });

  test("answers a repeated commit even when token and conditions hold no longer", async () => {
    const { call, clock } = memoryApi();
    await deposit(call, { ada: 300, bob: 0 });
    const begun = await call("/v1/transactions/begin", { reads: { gets: [ada] } });
    const request = { transaction: begun.body["transaction"], ...transfer(300), returnItems: true };
    const first = await call("/v1/transactions/commit", request, keyed("k2"));
    expect(first.status).toBe(200);
    clock.advance(3_600_000);
    const repeat = await call("/v1/transactions/commit", request, keyed("k2"));
    expect(repeat.status).toBe(200);
    expect(repeat.headers.get("Idempotency-Replayed")).toBe("true");
    expect(repeat.body["written"]).toEqual(first.body["written"]);
    expect(await balances(call, "ada", "bob")).toEqual([0, 300]);
  });

  test("takes the same commit on a newer token for the same request", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 300, bob: 0 });
    for (const replayed of [false, true]) {
      const { transaction } = (await call("/v1/transactions/begin", {})).body;
      const request = { transaction, ...transfer(300) };
      const answer = await call("/v1/transactions/commit", request, keyed("k5"));
      expect(receiptOf(answer).replayed).toBe(replayed);
    }
    expect(await balances(call, "ada", "bob")).toEqual([0, 300]);
  });

  test("answers both of two equal commits that race with one commit", async () => {
    const { call, engine } = memoryApi();
    await deposit(call, { ada: 300, bob: 0 });
    const begun = await call("/v1/transactions/begin", { reads: { gets: [ada] } });
    const request = { transaction: begun.body["transaction"], ...transfer(300) };
    const inner: Answer[] = [];
    engine.interfere = async () => {
      inner.push(await call("/v1/transactions/commit", request, keyed("k3")));
    };
    const outer = await call("/v1/transactions/commit", request, keyed("k3"));
    expect([outer.status, inner[0]?.status]).toEqual([200, 200]);
    expect(receiptOf(outer).transactionId).toBe(inner[0] && receiptOf(inner[0]).transactionId);
    expect(await balances(call, "ada", "bob")).toEqual([0, 300]);
  });

  test("records nothing for a failed condition: the repeat is judged anew", async () => {
    const { call } = memoryApi();
    await deposit(call, { ada: 100, bob: 0 });
    expect((await call("/v1/transactions", transfer(300), keyed("k4"))).status).toBe(412);
    await deposit(call, { ada: 300 });
    expect((await call("/v1/transactions", transfer(300), keyed("k4"))).status).toBe(200);
  });
});
