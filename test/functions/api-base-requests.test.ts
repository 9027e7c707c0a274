/** BASE transactions by REST: asked for, looked up, taken back, as bodies and answers have them. */
import { beforeEach, describe, expect, test } from "vitest";
import { CommitUnknownError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { TransactionId } from "../../core/types.ts";
import { memoryApi, type MemoryApi } from "./fixtures/api-harness.ts";
import type { MemoryBases } from "./fixtures/memory-bases.ts";

let api: MemoryApi;
let bases: MemoryBases;
beforeEach(async () => {
  api = memoryApi();
  bases = await api.engine.bases();
});

const order = { name: "order", id: "17 / ü?" };
const query = `name=order&id=${encodeURIComponent(order.id)}`;
const cancel = (of = query) => api.call(`/v1/base?${of}`, undefined, { method: "DELETE" });

describe("a request", () => {
  test("is answered 202 while nothing has happened, and 200 once it has begun", async () => {
    const first = await api.call("/v1/base", { ...order, input: { cents: 5 } });
    expect(first).toMatchObject({
      status: 202,
      body: { isNew: true, base: { ...order, version: 1, phase: "requested", steps: 0 } },
    });
    expect(first.body["base"]).not.toHaveProperty("lastHeard");
    const again = await api.call("/v1/base", { ...order, input: { cents: 5 } });
    expect(again).toMatchObject({ status: 202, body: { isNew: false } });
    bases.put({ name: "order", id: "2" }, { steps: 2 });
    const late = await api.call("/v1/base", { name: "order", id: "2" });
    expect(late).toMatchObject({
      ...{ status: 200, body: { isNew: false, base: { phase: "running", steps: 2 } } },
    });
  });

  test.each([{ input: { cents: 6 } }, {}, { input: { cents: 5 }, version: 2 }])(
    "for what is another one's is told so: %j",
    async (other) => {
      await api.call("/v1/base", { ...order, input: { cents: 5 } });
      expect(await api.call("/v1/base", { ...order, ...other })).toMatchObject({
        status: 422,
        body: { code: "base-id-reused", field: "id", retryable: false, outcome: "aborted" },
      });
    },
  );

  test("has one input in either format, and none is not null", async () => {
    const typed = { format: "dynamodb", input: { M: { cents: { N: "5.0" } } } };
    await api.call("/v1/base", { ...order, ...typed });
    const plain = await api.call("/v1/base", { ...order, input: { cents: 5 } });
    expect(plain).toMatchObject({ status: 202, body: { isNew: false } });
    await api.call("/v1/base", { name: "order", id: "2" });
    expect((await api.call("/v1/base", { name: "order", id: "2", input: null })).status).toBe(422);
  });

  test.each([
    ["name", { name: "an order", id: "1" }],
    ["name", { name: "x".repeat(limits.baseNameBytesMax + 1), id: "1" }],
    ["id", { name: "order", id: "" }],
    ["id", { name: "order", id: "ü".repeat(129) }],
    ["version", { name: "order", id: "1", version: 0 }],
    ["input.$typed", { name: "order", id: "1", input: { $typed: { X: 1 } } }],
    ["inputs", { name: "order", id: "1", inputs: 1 }],
  ])("that is wrong is refused by its field: %s", async (field, body) => {
    const { status, body: problem } = await api.call("/v1/base", body);
    expect([status, problem["code"]]).toEqual([422, "invalid-request"]);
    expect(String(problem["field"])).toContain(field.split(".")[0]);
  });

  test("that may be recorded is told to be unknown, and to be sent again", async () => {
    const lost = new CommitUnknownError("lost", "0".repeat(32) as TransactionId);
    Object.assign(bases, { request: () => Promise.reject(lost) });
    const answer = await api.call("/v1/base", order);
    expect(answer).toMatchObject({
      ...{ status: 503, body: { code: "unavailable", outcome: "unknown", retryable: true } },
    });
    expect(answer.body).not.toHaveProperty("transactionId");
  });

  test("counts as one that succeeded, not as one of unknown outcome", async () => {
    await api.call("/v1/base", order);
    const line = api.lines.find(({ message }) => message === "request");
    expect(line?.fields).toMatchObject({ status: 202, code: undefined });
  });
});

describe("a look", () => {
  test("has the result once it is released, in the format that is asked for", async () => {
    const result = {
      M: { value: { M: { at: { M: { $number: { N: "7" } } }, b: { BOOL: true } } } },
    };
    const ended = { phase: "ended", steps: 2, isReleased: true } as const;
    bases.put(order, ended, result);
    expect((await api.call(`/v1/base?${query}`)).body).toMatchObject({
      ...{ phase: "released", result: { at: 7, b: true } },
    });
    expect((await api.call(`/v1/base?${query}&format=dynamodb`)).body).toMatchObject({
      result: { M: { at: { N: "7" }, b: { BOOL: true } } },
    });
    bases.put(order, { ...ended, isReleased: false });
    const waiting = await api.call(`/v1/base?${query}`);
    expect(waiting.body["phase"]).toBe("ended");
    expect(waiting.body).not.toHaveProperty("result");
  });

  test("tells of a refusal by its step and its error", async () => {
    const refusal = { step: "reserve", name: "Error", message: "the seat is taken" };
    bases.put(order, { phase: "refused", steps: 0, refusal, failure: "Error: the seat is taken" });
    expect(await api.call(`/v1/base?${query}`)).toMatchObject({
      ...{ status: 200, body: { phase: "refused", refusal } },
    });
  });

  test("at what is not there is 404, and says what it may have been", async () => {
    const answer = await api.call(`/v1/base?${query}`);
    expect(answer).toMatchObject({ status: 404, body: { code: "not-found", field: "id" } });
    expect(answer.body["detail"]).toMatch(/not begun or requested/);
  });
});

describe("to cancel", () => {
  test("what waits, or was refused, is answered alike however often it is sent", async () => {
    await api.call("/v1/base", order);
    for (const _ of [1, 2]) {
      expect(await cancel()).toMatchObject({ status: 200, body: { phase: "cancelled" } });
    }
    const again = await api.call("/v1/base", order);
    expect(again).toMatchObject({ status: 200, body: { base: { phase: "cancelled" } } });
    bases.put(order, { phase: "refused", steps: 0 });
    expect(await cancel()).toMatchObject({ status: 200, body: { phase: "refused" } });
  });

  test("what has begun is 409, which no retry mends", async () => {
    bases.put(order, { steps: 3 });
    const answer = await cancel();
    expect(answer).toMatchObject({ status: 409, body: { code: "base-begun", retryable: false } });
    expect(answer.headers.get("retry-after")).toBeNull();
    expect((await cancel("name=order&id=none")).status).toBe(404);
  });
});

describe("a query is taken to the letter:", () => {
  test.each(["%FF", "%", "%ED%A0%80", "a&id=%FF", "%E0%A4%A"])(
    "an id of %s is refused, and takes back nothing",
    async (text) => {
      const [id = ""] = text.split("&");
      await api.call("/v1/base", { name: "order", id });
      const asked = `name=order&id=${text}`;
      const refused = { status: 422, body: { code: "invalid-request", field: "id" } };
      expect(await api.call(`/v1/base?${asked}`)).toMatchObject(refused);
      expect(await cancel(asked)).toMatchObject(refused);
      const whole = `name=order&id=${encodeURIComponent(id)}`;
      expect((await api.call(`/v1/base?${whole}`)).body["phase"]).toBe("requested");
    },
  );

  test.each(["name=order&name=bill&id=1", "limit=1&limit=2", "%FF=1", "id&__proto__=1"])(
    "%s is refused",
    async (asked) => {
      const path = asked.includes("limit") ? "/v1/base/open" : "/v1/base";
      expect((await api.call(`${path}?${asked}`)).status).toBe(422);
    },
  );

  test("a plus is a blank, and a parameter may be empty", async () => {
    await api.call("/v1/base", { name: "order", id: "a b+c" });
    const found = await api.call("/v1/base?&name=order&&id=a+b%2Bc&");
    expect(found.body["id"]).toBe("a b+c");
    expect((await api.call("/v1/base?name=order&id")).status).toBe(422);
  });
});

test("the list has parked ones first, up to its limit, and those of one name", async () => {
  for (let n = 0; n < 5; n += 1) bases.put({ name: "order", id: n.toString() }, {});
  bases.put({ name: "order", id: "p" }, { phase: "parked", failure: "x", failures: 10 });
  bases.put({ name: "other", id: "o" }, {});
  const all = await api.call("/v1/base/open");
  const [first, ...others] = all.body["bases"] as readonly object[];
  expect(first).toMatchObject({ id: "p", phase: "parked", failures: 10, failure: "x" });
  expect([all.body["all"], others]).toMatchObject([
    7,
    [0, 1, 2, 3, 4, "o"].map((id) => ({ id: `${id}` })),
  ]);
  const some = await api.call("/v1/base/open?name=order&limit=2");
  expect(some.body).toMatchObject({ all: 6, bases: [{ id: "p" }, { id: "0" }] });
  expect(some.body["bases"]).toHaveLength(2);
});

test("a parked one goes on when it is resumed, once", async () => {
  bases.put(order, { phase: "parked" });
  const resumed = await api.call("/v1/base/resume", order);
  expect(resumed.body).toMatchObject({ isResumed: true, base: { phase: "running" } });
  const again = await api.call("/v1/base/resume", order);
  expect(again.body).toMatchObject({ isResumed: false, base: { phase: "running" } });
});

test("a path takes what it takes, and says so", async () => {
  const answer = await api.call("/v1/base", undefined, { method: "PUT" });
  expect(answer.status).toBe(405);
  expect(answer.headers.get("allow")).toBe("POST, GET, DELETE");
});
