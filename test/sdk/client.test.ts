/** The client: its options, its life, results and outcomes. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { NumberValueImpl as NumberValue } from "@aws-sdk/util-dynamodb";
import {
  type ClientOptions,
  CommitUnknownError,
  createClient,
  InvalidRequestError,
  TransactionClosedError,
  UnavailableError,
} from "../../sdk/index.ts";
import { discover } from "../../sdk/discovery.ts";
import { describeStack } from "../../sdk/tables.ts";
import { accounts, anything, openShop } from "./fixtures/shop.ts";

describe("createClient", () => {
  test.each<[string, unknown]>([
    ["options", undefined],
    ["deployment", {}],
    ["deployment", { deployment: "" }],
    ["deployment", { deployment: "with space" }],
    ["deployment", { endpoint: "http://127.0.0.1:1", deployment: "dev" }],
    ["region", { endpoint: "http://127.0.0.1:1", region: "eu-west-1" }],
    ["endpoint", { endpoint: "127.0.0.1:4600" }],
    ["endpoint", { endpoint: "ftp://127.0.0.1" }],
    ["endpoints.kinesis", { deployment: "dev", endpoints: { kinesis: "x" } }],
    ["endpoints.s3", { deployment: "dev", endpoints: { s3: "http://127.0.0.1:1" } }],
    ["dynamodb", { deployment: "dev", dynamodb: {} }],
    ["credentials", { deployment: "dev", credentials: "secret" }],
    ["onEvent", { deployment: "dev", onEvent: {} }],
    ["numbers", { deployment: "dev", numbers: "lossless" }],
    ["numbers", { deployment: "dev", numbers: (text: string) => text }],
    ["marshall.removeUndefined", { deployment: "dev", marshall: { removeUndefined: true } }],
    ["callTriesMax", { deployment: "dev", callTriesMax: 0 }],
    ["regoin", { deployment: "dev", regoin: "eu-west-1" }],
  ])("refuses a wrong `%s` by name: %j", (field, options) => {
    const make = () => createClient(options as ClientOptions);
    expect(make).toThrow(InvalidRequestError);
    expect(make).toThrow(expect.objectContaining({ field }));
  });

  test("does no work: a client that was never used closes at once", async () => {
    const db = createClient({ endpoint: "http://127.0.0.1:1" });
    await db.close();
    await expect(db.transact(async () => 1)).rejects.toThrow(TransactionClosedError);
  });

  test("connects once for all, and again within the call after a failure", async () => {
    let connects = 0;
    const { engine } = openShop();
    const { db } = openShop(
      {},
      {
        connect: async () => {
          connects += 1;
          if (connects === 1) throw new UnavailableError("not yet");
          return { engine, close: async () => undefined };
        },
      },
    );
    expect(await db.snapshot(async () => 1)).toBe(1);
    await Promise.all([db.snapshot(async () => 1), db.transact(async () => 2)]);
    expect(connects).toBe(2);
  });

  test("close drains the engine once, then its own clients", async () => {
    const order: string[] = [];
    const { engine } = openShop();
    const { db } = openShop(
      {},
      {
        connect: async () => ({
          engine,
          close: async () => {
            order.push(`clients after ${engine.closed.toString()} engine`);
          },
        }),
      },
    );
    await db.snapshot(async () => 1);
    await Promise.all([db.close(), db[Symbol.asyncDispose]()]);
    expect(order).toEqual(["clients after 1 engine"]);
    expect(engine.closed).toBe(1);
  });
});

describe("discovery", () => {
  async function served<T>(
    status: number,
    body: unknown,
    use: (url: string) => Promise<T>,
  ): Promise<T> {
    const paths: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url);
      response.writeHead(status, { "content-type": "application/json" });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const result = await use(`http://127.0.0.1:${port.toString()}`);
      expect(paths).toEqual(["/.well-known/tidemark"]);
      return result;
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  const stack = {
    deployment: "local",
    region: "us-east-1",
    endpoints: { dynamodb: "http://127.0.0.1:8000", kinesis: "http://127.0.0.1:4567" },
  };

  test("the one address tells the rest", async () => {
    expect(await served(200, stack, discover)).toEqual(stack);
    expect(await served(200, stack, (url) => discover(`${url}/`))).toEqual(stack);
  });

  test("users ask for it by an entry, and are told of a value that is no address", async () => {
    expect(await served(200, stack, describeStack)).toEqual(stack);
    for (const wrong of ["127.0.0.1:4600", "", undefined, { endpoint: "http://127.0.0.1:4600" }]) {
      const failed = describeStack(wrong as string);
      await expect(failed).rejects.toMatchObject({ code: "invalid-request", field: "endpoint" });
      await expect(failed).rejects.toThrow("an http or https URL");
    }
  });

  test.each([
    [404, "nothing here"],
    [200, "<html>"],
    [200, null],
    [200, { ...stack, deployment: 5 }],
    [200, { ...stack, endpoints: { dynamodb: "x", kinesis: "y" } }],
  ])("an answer %i %j of something else is refused as `endpoint`", async (status, body) => {
    await served(status, body, async (url) => {
      await expect(discover(url)).rejects.toMatchObject({ field: "endpoint" });
    });
  });

  test("a stack that starts, and one that is not there, are unavailable", async () => {
    const url = await served(503, "starting", async (starting) => {
      await expect(discover(starting)).rejects.toThrow(UnavailableError);
      return starting;
    });
    const db = createClient({ endpoint: url });
    const failed = db.transact({ deadlineMs: 2_000 }, async () => 1);
    await expect(failed).rejects.toThrow(UnavailableError);
    await expect(failed).rejects.toThrow(`no stack answers at ${url}`);
    await expect(failed).rejects.toMatchObject({ retryable: true, outcome: "aborted" });
    await db.close();
  });

  test("a stack that comes up is found within the call that looked for it", async () => {
    const late = createServer((_request, response) => response.writeHead(404).end("other"));
    await new Promise<void>((resolve) => late.listen(0, "127.0.0.1", resolve));
    const { port } = late.address() as AddressInfo;
    await new Promise((resolve) => late.close(resolve));
    const db = createClient({ endpoint: `http://127.0.0.1:${port.toString()}` });
    const found = db.transact({ deadlineMs: 20_000 }, async () => 1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    late.listen(port, "127.0.0.1");
    // What has come up says that it is something else: it was asked again.
    await expect(found).rejects.toMatchObject({ field: "endpoint" });
    late.closeAllConnections();
    await new Promise((resolve) => late.close(resolve));
    await db.close();
  });
});

describe("calls", () => {
  test.each<[string, object]>([
    ["isolation", { isolation: "read-committed" }],
    ["attemptsMax", { attemptsMax: 0 }],
    ["deadlineMs", { deadlineMs: 60_001 }],
    ["deadlineMs", { deadlineMs: "1s" }],
    ["signal", { signal: {} }],
    ["idempotencyKey", { idempotencyKey: "" }],
    ["idempotencyKey", { idempotencyKey: "ü".repeat(257) }],
    ["ack", { ack: "sometimes" }],
    ["deadline", { deadline: 5 }],
  ])("transact refuses a wrong `%s` before the body runs", async (field, options) => {
    const { db } = openShop();
    let runs = 0;
    const failed = db.transact(options, async () => (runs += 1));
    await expect(failed).rejects.toMatchObject({ code: "invalid-request", field });
    expect(runs).toBe(0);
  });

  test("a body that is missing is refused", async () => {
    const { db } = openShop();
    await expect(db.transact({})).rejects.toMatchObject({ field: "body" });
    await expect(db.snapshot({ asOf: new Date() }, 5 as never)).rejects.toMatchObject({
      field: "body",
    });
  });

  test("a snapshot shows an earlier moment, by timestamp and by date", async () => {
    const { db } = openShop();
    const put = (balanceCents: number) =>
      db.transact(async (tx) => {
        tx.put(accounts, "a", { balanceCents });
      });
    const { receipt } = await put(1);
    await put(2);
    const asOf = receipt.commitTimestamp;
    if (asOf === undefined) throw new Error("a put has a commit timestamp");
    const then = await db.snapshot({ asOf }, (s) => s.get(accounts, "a"));
    const byDate = await db.snapshot({ asOf: new Date(asOf / 1_000) }, (s) => s.get(accounts, "a"));
    const now = await db.snapshot({ maxStalenessMs: 0 }, (s) => s.get(accounts, "a"));
    expect([then, byDate, now].map((row) => row?.balanceCents)).toEqual([1, 1, 2]);
  });

  test.each<[string, object]>([
    ["asOf", { asOf: "yesterday" }],
    ["asOf", { asOf: new Date(Number.NaN) }],
    ["asOf", { asOf: 1_700_000_000_000 }], // Milliseconds where microseconds are meant.
    ["maxStalenessMs", { asOf: new Date(), maxStalenessMs: 5 }],
    ["maxStalenessMs", { maxStalenessMs: -1 }],
    ["stalenessMsMax", { stalenessMsMax: 5 }],
  ])("snapshot refuses a wrong `%s`: %j", async (field, options) => {
    const { db } = openShop();
    await expect(db.snapshot(options, async () => 1)).rejects.toMatchObject({ field });
  });

  test.each([
    ["lose-answer", "committed"],
    ["lose-request", "aborted"],
  ] as const)("outcome settles an unknown commit: %s means %s", async (commitFault, expected) => {
    const { db } = openShop({ commitFault: () => commitFault });
    const failed = await db
      .transact(async (tx) => {
        tx.put(accounts, "a", { balanceCents: 1 });
      })
      .catch((error: unknown) => error);
    if (!(failed instanceof CommitUnknownError)) throw new Error("the outcome must be unknown");
    expect(failed.outcome).toBe("unknown");
    expect(await db.outcome(failed.transactionId)).toBe(expected);
    const row = await db.snapshot((s) => s.get(accounts, "a"));
    expect(row !== undefined).toBe(expected === "committed");
  });

  // An id whose timestamp exceeds 2^53 - 1 would have the oracle refuse the whole record.
  test.each(["abc", "20000000000000" + "0".repeat(18), "f".repeat(32)])(
    "outcome refuses %s, which is no transaction id",
    async (id) => {
      const { db } = openShop();
      await expect(db.outcome(id)).rejects.toMatchObject({ field: "transactionId" });
    },
  );
});

describe("idempotency", () => {
  test("a repeat returns the first result without running the body", async () => {
    const { db, engine } = openShop();
    let runs = 0;
    const call = () =>
      db.transact({ idempotencyKey: "k" }, async (tx) => {
        runs += 1;
        tx.put(accounts, "a", { balanceCents: runs });
        return {
          runs,
          big: 5n,
          huge: 2n ** 90n,
          set: new Set(["x"]),
          bytes: Uint8Array.of(1),
          list: [null, { deep: true, gone: undefined }],
        };
      });
    const first = await call();
    const second = await call();
    expect(runs).toBe(1);
    expect(first.receipt.replayed).toBe(false);
    expect(second.receipt.replayed).toBe(true);
    expect(second.result).toStrictEqual(first.result);
    expect(second.result).toMatchObject({ runs: 1, big: 5n, huge: 2n ** 90n });
    expect(engine.stored("accounts", { id: { S: "a" } })?.["balanceCents"]).toEqual({ N: "1" });
  });

  test("a body without a result repeats without one", async () => {
    const { db } = openShop();
    const call = () =>
      db.transact({ idempotencyKey: "k" }, async (tx) => {
        tx.put(accounts, "a", { balanceCents: 1 });
      });
    expect((await call()).result).toBeUndefined();
    expect(await call()).toMatchObject({ result: undefined, receipt: { replayed: true } });
  });

  test("number objects in a result stay what they were", async () => {
    const { db } = openShop({}, { numbers: (text) => NumberValue.from(text) });
    const call = () =>
      db.transact({ idempotencyKey: "k" }, async (tx) => {
        tx.put(anything, "a", { n: 1 });
        return { plain: 1, row: await tx.get(anything, "a") };
      });
    const first = await call();
    expect(first.result).toEqual({ plain: 1, row: { id: "a", n: NumberValue.from("1") } });
    expect((await call()).result).toEqual(first.result);
  });

  test.each<[string, unknown]>([
    ["a function", () => 1],
    ["a class instance", { at: new Date(0) }],
    ["a list with a symbol", [Symbol("s")]],
    ["the reserved attribute", { $number: 1 }],
  ])(
    "a result with %s cannot be kept: refused as `result`, nothing committed",
    async (_what, result) => {
      const { db, engine } = openShop();
      const failed = db.transact({ idempotencyKey: "k" }, async (tx) => {
        tx.put(accounts, "a", { balanceCents: 1 });
        return result;
      });
      await expect(failed).rejects.toMatchObject({ code: "invalid-request", field: "result" });
      expect(engine.rows.size).toBe(0);
    },
  );

  test("without a key any result is fine", async () => {
    const { db } = openShop();
    const { result } = await db.transact(async () => new Date(0));
    expect(result).toEqual(new Date(0));
  });
});
