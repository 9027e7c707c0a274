/** Every refusal of the REST service by claim: status, code, and what the caller is told. */
import { describe, expect, test } from "vitest";
import { systemRandom } from "../../aws/system.ts";
import { InvariantViolation } from "../../core/assert.ts";
import {
  CommitUnknownError,
  CorruptDataError,
  diskFullCode,
  InvalidRequestError,
  SnapshotTooOldError,
  StoreError,
  UnavailableError,
} from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { TableRefusedError } from "../../engine/table-registry.ts";
import { localTransactionId } from "../../schemas/transaction-id.ts";
import { balances, deposit, memoryApi } from "./fixtures/api-harness.ts";

const ada = { table: "accounts", key: { account: "ada" } };
const put = (balanceCents: number) => ({
  writes: [{ op: "put", table: "accounts", item: { account: "ada", balanceCents } }],
});

describe("requests that cannot be read", () => {
  test.each([
    ["", "malformed-request"],
    ["{", "malformed-request"],
    ['{"writes":[],"writes":[]}', "malformed-request"],
    ['{"a":{"b":{"c":1},"b":2}}', "malformed-request"],
    [`{"a":${"[".repeat(200)}${"]".repeat(200)}}`, "malformed-request"],
  ])("answers 400 to %j", async (body, code) => {
    const { call } = memoryApi();
    const answer = await call("/v1/transactions", body, { method: "POST" });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code, retryable: false });
  });

  test("answers 400 to bytes that are not UTF-8", async () => {
    const { api } = memoryApi();
    const response = await api.request("/v1/transactions", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d),
    });
    expect(response.status).toBe(400);
  });

  test.each([undefined, "text/plain", "application/xml", "application/json; charset=latin1"])(
    "answers 415 to content type %s",
    async (contentType) => {
      const { api } = memoryApi();
      const response = await api.request("/v1/transactions", {
        method: "POST",
        ...(contentType === undefined ? {} : { headers: { "Content-Type": contentType } }),
        body: new TextEncoder().encode("{}"),
      });
      expect(response.status).toBe(415);
    },
  );

  test("answers 404 to unknown paths and 405 with Allow to wrong methods", async () => {
    const { call } = memoryApi();
    expect((await call("/v1/nothing")).body["code"]).toBe("not-found");
    const id = "0".repeat(32);
    for (const [path, method, allow] of [
      ["/v1/transactions", "GET", "POST"],
      ["/v1/transactions/begin", "DELETE", "POST"],
      [`/v1/transactions/${id}/outcome`, "GET", "POST"],
      ["/v1/health", "POST", "GET"],
    ] as const) {
      const answer = await call(path, undefined, { method });
      expect(answer.status).toBe(405);
      expect(answer.headers.get("Allow")).toBe(allow);
    }
  });

  test("answers 413 to a body above the limit, declared or not, unread", async () => {
    const { api, call } = memoryApi();
    const large = JSON.stringify({ text: "x".repeat(limits.restRequestBytesMax) });
    const declared = await call("/v1/transactions", large, {
      headers: { "Content-Length": large.length.toString() },
    });
    expect(declared.body).toMatchObject({
      code: "request-too-large",
      limit: { name: "restRequestBytesMax", max: limits.restRequestBytesMax, actual: large.length },
    });
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const request = new Request("http://localhost/v1/transactions", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: endless,
      duplex: "half",
    });
    expect((await api.fetch(request)).status).toBe(413);
    expect(pulled).toBeLessThan(limits.restRequestBytesMax + 4 * 65_536);
  });
});

describe("requests that are wrong", () => {
  const query = { table: "entries", partitionKey: "ada" };
  test.each<[string, object, string]>([
    ["/v1/transactions", { unknown: 1 }, "unknown"],
    ["/v1/transactions", { isolation: "none" }, "isolation"],
    ["/v1/transactions", { writes: [{ op: "upsert", table: "t" }] }, "writes[0].op"],
    ["/v1/transactions", { writes: [{ op: "put", table: "accounts" }] }, "writes[0].item"],
    [
      "/v1/transactions",
      { writes: [{ op: "put", table: "accounts", item: [] }] },
      "writes[0].item",
    ],
    [
      "/v1/transactions",
      { writes: [{ op: "put", table: "accounts", item: { n: 1 } }] },
      "writes[0].item.account",
    ],
    ["/v1/transactions", { writes: [{ op: "put", table: "none", item: { n: 1 } }] }, "table"],
    [
      "/v1/transactions",
      { writes: [{ op: "update", ...ada, set: { n: 1 }, remove: ["n"] }] },
      "writes[0]",
    ],
    [
      "/v1/transactions",
      { writes: [{ op: "update", ...ada, set: { account: "x" } }] },
      "writes[0]",
    ],
    [
      "/v1/transactions",
      { writes: [{ op: "update", ...ada, add: { n: "1" } }] },
      "writes[0].add.n",
    ],
    ["/v1/transactions", { conditions: [{ ...ada, condition: {} }] }, "conditions[0].condition"],
    [
      "/v1/transactions",
      { conditions: [{ ...ada, condition: { attributes: { n: {} } } }] },
      "conditions[0].condition.attributes.n",
    ],
    [
      "/v1/transactions",
      { format: "dynamodb", reads: { gets: [ada] } },
      "reads.gets[0].key.account",
    ],
    [
      "/v1/transactions",
      { format: "dynamodb", reads: { gets: [{ ...ada, key: { account: { N: "x" } } }] } },
      "reads.gets[0].key.account.N",
    ],
    ["/v1/snapshots", {}, "reads"],
    ["/v1/snapshots", { reads: {}, asOf: 1, maxStalenessMs: 1 }, "asOf"],
    ["/v1/snapshots", { reads: {}, maxStalenessMs: -1 }, "maxStalenessMs"],
    [
      "/v1/snapshots",
      { reads: { queries: [{ ...query, sortKey: { lt: 1, gt: 0 } }] } },
      "reads.queries[0].sortKey",
    ],
    ["/v1/snapshots", { reads: { queries: [{ ...query, limit: 0 }] } }, "reads.queries[0].limit"],
    [
      "/v1/snapshots",
      { reads: { queries: [{ ...query, cursor: "%%" }] } },
      "reads.queries[0].cursor",
    ],
    [
      "/v1/snapshots",
      {
        reads: {
          queries: [{ ...query, index: { name: "i", partitionKey: "a" }, sortKey: { eq: 1 } }],
        },
      },
      "reads.queries[0].index.sortKey",
    ],
    ["/v1/snapshots", { reads: { scans: Array(21).fill({ table: "entries" }) } }, "reads.scans"],
    ["/v1/transactions/commit", put(1), "transaction"],
    ["/v1/transactions/XYZ/outcome", {}, "id"],
    [`/v1/transactions/20000000000000${"0".repeat(18)}/outcome`, {}, "id"],
    [`/v1/transactions/${"f".repeat(32)}/outcome`, {}, "id"],
  ])("answers 422 to %s %j and names %s", async (path, body, field) => {
    const { call } = memoryApi();
    const answer = await call(path, body);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ code: "invalid-request", field, retryable: false });
    expect(answer.body["detail"]).toContain(field);
  });

  test.each([
    "9007199254740993",
    "12345678901234567890",
    "1e400",
    "0.1234567890123456789",
    "1e-200",
  ])("answers 422 to the number %s, which parsers would round, with the remedy", async (token) => {
    const { call } = memoryApi();
    const item = `{"account":"ada","big":${token}}`;
    const body = `{"writes":[{"op":"put","table":"accounts","item":${item}}]}`;
    const answer = await call("/v1/transactions", body);
    expect(answer.status).toBe(422);
    expect(answer.body["field"]).toBe("writes[0].item.big");
    expect(answer.body["detail"]).toContain("$typed");
  });

  test("answers 422 to a name that validators drop, instead of dropping it", async () => {
    const { call } = memoryApi();
    const condition = '{"attributes":{"__proto__":{"exists":true},"account":{"exists":true}}}';
    const key = '{"account":"ada"}';
    const body = `{"conditions":[{"table":"accounts","key":${key},"condition":${condition}}]}`;
    expect((await call("/v1/transactions", body)).status).toBe(422);
  });

  test("answers 413 to more keys than a transaction holds, and names the limit", async () => {
    const { call, engine } = memoryApi();
    const gets = Array.from({ length: limits.transactionKeysMax }, () => ada);
    const answer = await call("/v1/transactions", { reads: { gets }, ...put(1) });
    expect(answer.status).toBe(413);
    expect(answer.body).toMatchObject({
      code: "transaction-too-large",
      limit: { name: "transactionKeysMax", max: 10_000, actual: 10_001 },
    });
    expect(engine.bodies()).toBe(0);
  });

  test("answers 413 to an answer that could not be delivered, and commits nothing", async () => {
    const { call } = memoryApi();
    const text = '"'.repeat(1_500_000);
    const writes = [{ op: "put", table: "accounts", item: { account: "ada", text } }];
    expect((await call("/v1/transactions", { writes })).status).toBe(200);
    const answer = await call("/v1/transactions", { reads: { gets: [ada] }, ...put(1) });
    expect(answer.body).toMatchObject({ limit: { name: "restResponseBytesMax" } });
    for (const path of ["/v1/snapshots", "/v1/transactions/begin"]) {
      expect((await call(path, { reads: { gets: [ada] } })).status).toBe(413);
    }
    expect(await balances(call, "bob")).toEqual([undefined]);
    const still = await call("/v1/transactions", {
      conditions: [{ ...ada, condition: { attributes: { balanceCents: { exists: false } } } }],
    });
    expect(still.status).toBe(200);
  });

  test.each(["", "has space", "ключ", "k".repeat(257)])(
    "answers 422 to the idempotency key %j",
    async (key) => {
      const { call } = memoryApi();
      const header = Buffer.from(key).toString("latin1");
      const answer = await call("/v1/transactions", put(1), {
        headers: { "Idempotency-Key": header },
      });
      expect(answer.body).toMatchObject({ status: 422, field: "Idempotency-Key" });
    },
  );
});

describe("what the engine could not do", () => {
  const refusal = new TableRefusedError("the oracle refused the commit (table-unknown)");

  test.each([refusal, new UnavailableError("the deadline has passed", { cause: refusal })])(
    "says that the oracle refused a table: %s",
    async (error) => {
      const { call, engine } = memoryApi();
      engine.faults.push(error);
      const answer = await call("/v1/transactions", put(1));
      expect(answer.body).toMatchObject({ status: 503, code: "unavailable", outcome: "aborted" });
      expect(answer.body["detail"]).toBe(refusal.message);
    },
  );

  test.each([
    [new UnavailableError("dynamodb at 10.0.0.1"), 503, "unavailable", true],
    [
      new UnavailableError("x", { cause: new StoreError("throttled", "slow down") }),
      429,
      "throttled",
      true,
    ],
    [new StoreError("throttled", "at /data", { code: diskFullCode }), 507, "storage-full", true],
    [
      new UnavailableError("x", {
        cause: new StoreError("throttled", "10.0.0.1", { code: diskFullCode }),
      }),
      507,
      "storage-full",
      true,
    ],
    [new SnapshotTooOldError("overwritten"), 409, "snapshot-too-old", true],
    [new StoreError("unavailable", "host secret.internal"), 503, "unavailable", true],
  ])("answers %s with %i and nothing internal", async (error, status, code, retryable) => {
    const { call, engine } = memoryApi();
    engine.faults.push(error);
    const answer = await call("/v1/transactions", put(1));
    expect(answer.body).toMatchObject({ status, code, retryable, outcome: "aborted" });
    expect(answer.headers.get("Retry-After")).toMatch(/^\d+$/);
    expect(JSON.stringify(answer.body)).not.toMatch(/10\.0\.0\.1|secret\.internal|at .data/);
  });

  test.each([
    new Error("password is hunter2"),
    new InvariantViolation("I3: hunter2"),
    new CorruptDataError("hunter2"),
    new StoreError("rejected", "hunter2"),
  ])("answers %s with 500 and an incident that finds the error in the log", async (error) => {
    const { call, engine, lines } = memoryApi();
    engine.faults.push(error);
    const answer = await call("/v1/transactions", put(1), { headers: { "X-Request-Id": "r-1" } });
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer.body)).not.toContain("hunter2");
    const { incident } = answer.body;
    expect(incident).toMatch(/^[0-9a-f]{16}$/);
    const logged = lines.find(({ level }) => level === "error");
    expect(logged?.fields).toMatchObject({ incident, requestId: "r-1", error });
  });

  test("keeps account ids out of what the store said", async () => {
    const { call, engine } = memoryApi();
    engine.faults.push(
      new InvalidRequestError("request", "refused: arn:aws:sts::123456789012:role/x may not"),
    );
    const answer = await call("/v1/transactions", put(1));
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.body)).not.toContain("123456789012");
  });

  test.each([
    ["unknown-committed", "committed"],
    ["unknown-aborted", "aborted"],
  ] as const)("answers 202 when the outcome is unknown, and %s settles", async (fault, outcome) => {
    const { call, engine } = memoryApi();
    engine.faults.push(fault);
    const answer = await call("/v1/transactions", put(7));
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ outcome: "unknown", code: "commit-unknown" });
    const settle = answer.headers.get("Location") ?? "";
    expect(settle).toBe(answer.body["settle"]);
    expect((await call(settle, {})).body["outcome"]).toBe(outcome);
    expect(await balances(call, "ada")).toEqual([outcome === "committed" ? 7 : undefined]);
  });

  test("answers 202 without a path to settle where no log will ever tell", async () => {
    const { call, engine } = memoryApi();
    const id = localTransactionId(systemRandom);
    engine.faults.push(new CommitUnknownError("lost", id));
    const answer = await call("/v1/transactions", put(7));
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ outcome: "unknown", code: "commit-unknown", local: true });
    expect(answer.body["detail"]).toContain("read the item");
    expect(JSON.stringify(answer.body)).not.toContain(id);
    expect(answer.headers.has("Location")).toBe(false);
  });

  test("answers 503 with an unknown outcome when the engine does not come back", async () => {
    // Of which it has a second until it is told to end: sent off by then, on a busy machine, too.
    const { call, engine } = memoryApi({ deadlineMs: limits.restDeadlineMarginMs + 1_000 });
    engine.faults.push("hang");
    const answer = await call("/v1/transactions", put(1));
    expect(answer.body).toMatchObject({ status: 503, code: "unavailable", outcome: "unknown" });
  });

  test("answers 410 when the point in time that the request names is gone", async () => {
    const { call } = memoryApi();
    const item = { account: "ada", number: 1 };
    const key = { table: "entries", key: item };
    const write = (text: string) => ({
      writes: [{ op: "put", table: "entries", item: { ...item, text } }],
    });
    await call("/v1/transactions", write("old"));
    const first = await call("/v1/snapshots", { reads: { gets: [key] } });
    await call("/v1/transactions", write("new"));
    const asOf = first.body["readTimestamp"];
    const gone = await call("/v1/snapshots", { asOf, reads: { gets: [key] } });
    expect(gone.body).toMatchObject({ status: 410, code: "snapshot-too-old", retryable: false });
    const outcome = await call(`/v1/transactions/${"0".repeat(32)}/outcome`, {});
    expect(outcome.body).toMatchObject({ status: 410, code: "snapshot-too-old" });
  });

  test("does not remember a failure to read the deployment's secret", async () => {
    const { call, control } = memoryApi();
    control.failures.push(new StoreError("unavailable", "no answer"));
    expect((await call("/v1/transactions/begin", {})).status).toBe(503);
    expect((await call("/v1/transactions/begin", {})).status).toBe(200);
  });
});

describe("headers and log", () => {
  test("sets security headers on answers and problems, and no CORS header by default", async () => {
    const { call } = memoryApi();
    for (const path of ["/v1/health", "/v1/nothing"]) {
      const { headers } = await call(path, undefined, { headers: { Origin: "https://a.example" } });
      expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
      expect(headers.get("Cache-Control")).toBe("no-store");
      expect(headers.get("Content-Security-Policy")).toContain("default-src 'none'");
      expect(headers.get("Access-Control-Allow-Origin")).toBeNull();
    }
  });

  test("allows the origins that the option names, and no other", async () => {
    const { api } = memoryApi({ corsOrigins: ["https://a.example"] });
    const preflight = (origin: string) =>
      api.request("/v1/transactions", {
        method: "OPTIONS",
        headers: { Origin: origin, "Access-Control-Request-Method": "POST" },
      });
    const allowed = await preflight("https://a.example");
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("Access-Control-Allow-Origin")).toBe("https://a.example");
    expect(allowed.headers.get("Access-Control-Allow-Headers")).toContain("Idempotency-Key");
    const refused = await preflight("https://b.example");
    expect(refused.headers.get("Access-Control-Allow-Origin")).toBeNull();
  });

  test("keeps a good request id, replaces a hostile one, logs each request once", async () => {
    const { call, lines } = memoryApi();
    const own = await call("/v1/health", undefined, { headers: { "X-Request-Id": "abc-1" } });
    expect(own.headers.get("X-Request-Id")).toBe("abc-1");
    const hostile = await call("/v1/health", undefined, { headers: { "X-Request-Id": "a b<>" } });
    expect(hostile.headers.get("X-Request-Id")).toMatch(/^[0-9a-f]{24}$/);
    expect(lines.map(({ fields }) => fields["requestId"])).toEqual([
      "abc-1",
      hostile.headers.get("X-Request-Id"),
    ]);
  });

  test("logs status, code and transaction, never items", async () => {
    const { call, lines } = memoryApi();
    await deposit(call, { secretive: 1 });
    await call("/v1/transactions", { writes: [{ op: "nothing" }] });
    const fields = lines.map((line) => line.fields);
    expect(fields[0]).toMatchObject({ method: "POST", path: "/v1/transactions", status: 200 });
    expect(fields[0]?.["transactionId"]).toMatch(/^[0-9a-f]{32}$/);
    expect(fields[1]).toMatchObject({ status: 422, code: "invalid-request" });
    expect(JSON.stringify(lines)).not.toContain("secretive");
  });
});
