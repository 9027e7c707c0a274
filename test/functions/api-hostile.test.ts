/**
 * Requests that mean harm: they cost no more than their bytes, and none is taken for another one
 * than was sent.
 */
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { systemClock } from "../../aws/system.ts";
import { createPace } from "../../functions/api/pace.ts";
import { httpApiHandler } from "../../functions/api/lambda-event.ts";
import { httpApiEvent } from "../../localstack/http-event.ts";
import { balances, memoryApi, type MemoryApi } from "./fixtures/api-harness.ts";

const bytesMax = limits.restRequestBytesMax;

/** As many of them as a request may hold, within what goes before and after. */
function filled(before: string, member: string, after: string): string {
  const room = bytesMax - before.length - after.length - member.length;
  return before + `${member},`.repeat(Math.floor(room / (member.length + 1))) + member + after;
}

const condition = (inner: string): string =>
  `{"conditions":[{"table":"accounts","key":{"account":"a"},"condition":${inner}}]}`;
const names = (value: string): string => {
  const members: string[] = [];
  for (let i = 0, length = 100; length < bytesMax; i++) {
    const member = `"${i.toString(36)}":${value}`;
    length += member.length + 1;
    if (length < bytesMax) members.push(member);
  }
  return `{${members.join(",")}}`;
};

describe("a request of 4 MiB costs no more than a large honest one", () => {
  test.each([
    ["writes that are none", filled('{"writes":[', "0", "]}"), 413],
    ["conditions that are none", filled('{"conditions":[', "[]", "]}"), 413],
    ["gets that are none", filled('{"reads":{"gets":[', "{}", "]}}"), 413],
    ["pages that are none", filled('{"reads":{"scans":[', "0", "]}}"), 422],
    [
      "comparands",
      filled(condition('{"attributes":{"a":{"in":[').slice(0, -3), "0", "]}}}}]}"),
      422,
    ],
    ["attributes of a condition", condition(`{"attributes":${names("0")}}`), 422],
    ["members that are unknown", names("0"), 422],
    [
      "numbers in an item",
      filled('{"writes":[{"op":"put","table":"accounts","item":{"account":"a","l":[', "0", "]}}]}"),
      200,
    ],
    [
      "attributes of an item",
      `{"writes":[{"op":"put","table":"accounts","item":${names("0")}}]}`,
      422,
    ],
    ["one number", `{"writes":[${"1".repeat(bytesMax - 20)}]}`, 422],
    ["opening brackets", "[".repeat(bytesMax), 400],
    ["nesting", "[".repeat(bytesMax / 2) + "]".repeat(bytesMax / 2), 400],
    ["nested objects", `${'{"a":'.repeat(bytesMax / 6)}0${"}".repeat(bytesMax / 6)}`, 400],
    ["strings that end in white space", filled('{"writes":[', `"a"${" ".repeat(50)}`, "]}"), 413],
    ["escapes", filled('{"writes":[', '"\\u0061"', "]}"), 413],
    ["a name without end", `{"${"a".repeat(bytesMax - 20)}":0}`, 422],
    ["a table without end", `{"reads":{"gets":[{"table":"${"a".repeat(bytesMax - 60)}"}]}}`, 422],
  ])("%s", async (_, body, status) => {
    const { call } = memoryApi();
    const before = process.cpuUsage();
    const answer = await call("/v1/transactions", body);
    const { user, system } = process.cpuUsage(before);
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.body).length).toBeLessThan(20_000);
    // Of processor time, so that a busy machine does not matter. Such bodies took 40 s.
    expect((user + system) / 1e6).toBeLessThan(15);
  });
});

describe("a small request about one large item costs little more than the item", () => {
  const key = { account: "a" };
  const many = (count: number, member: object): object[] =>
    Array.from({ length: count }, () => member);
  const numbers = Array.from({ length: 60_000 }, (_, i) => i % 1_000);
  const attributes = Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`a${i}`, 1]));
  const add = { op: "update", table: "accounts", key, add: { n: 1 } };
  const unlike = { table: "accounts", key, condition: { attributes: { v: { ne: 1 } } } };
  const get = { table: "accounts", key };

  test.each([
    ["9,000 updates", attributes, { writes: many(9_000, add) }, 200],
    ["9,000 conditions on its list", { v: numbers }, { conditions: many(9_000, unlike) }, 200],
    [
      "5,000 updates that give it back",
      { v: numbers },
      { returnItems: true, writes: many(5_000, add) },
      413,
    ],
    ["9,000 gets of it", { v: numbers }, { reads: { gets: many(9_000, get) } }, 413],
    [
      "9,000 gets of its text",
      { v: "x".repeat(380_000) },
      { reads: { gets: many(9_000, get) } },
      413,
    ],
  ])("%s", async (_, item, body, status) => {
    const { call } = memoryApi();
    const stored = { op: "put", table: "accounts", item: { ...key, ...item } };
    expect((await call("/v1/transactions", { writes: [stored] })).status).toBe(200);
    const before = process.cpuUsage();
    const answer = await call("/v1/transactions", body);
    const { user, system } = process.cpuUsage(before);
    expect(answer.status).toBe(status);
    if (status === 413) {
      expect(answer.body).toMatchObject({ limit: { name: "restResponseBytesMax" } });
    }
    // Most took minutes, or all memory that there was.
    expect((user + system) / 1e6).toBeLessThan(15);
  });

  test("its deadline passes in the middle of long work", async () => {
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => (nowMs += limits.restStretchMsMax) };
    const pace = createPace(clock, AbortSignal.timeout(1));
    const work = async (): Promise<void> => {
      for (;;) await pace();
    };
    await expect(work()).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test("what its conditions are about is bounded", async () => {
    const { call } = memoryApi();
    const each = Math.floor(limits.restCurrentBytesMax / 90);
    const names = Array.from({ length: 100 }, (_, i) => `a${i}`);
    for (const account of names) {
      const item = { account, v: "x".repeat(each) };
      await call("/v1/transactions", { writes: [{ op: "put", table: "accounts", item }] });
    }
    const conditions = names.map((account) => ({
      table: "accounts",
      key: { account },
      condition: { exists: true },
    }));
    expect((await call("/v1/transactions", { conditions })).body).toMatchObject({
      status: 413,
      limit: { name: "restCurrentBytesMax" },
    });
    expect((await call("/v1/transactions", { conditions: conditions.slice(50) })).status).toBe(200);
  });
});

describe("bytes that are not UTF-8", () => {
  const put = (account: Uint8Array): Buffer =>
    Buffer.concat([
      Buffer.from(
        '{"writes":[{"op":"put","table":"accounts","item":{"balanceCents":1,"account":"a',
      ),
      account,
      Buffer.from('"}}]}'),
    ]);
  const send = async ({ api }: MemoryApi, body: Buffer, contentType: string): Promise<number> => {
    const event = httpApiEvent({
      method: "POST",
      target: "/v1/transactions",
      headers: [["content-type", contentType]],
      body,
      sourceIp: "127.0.0.1",
    });
    const answer = await httpApiHandler(api)(event, context);
    return answer.statusCode ?? 0;
  };

  test.each([
    ["a byte that never occurs", [0xff]],
    ["a continuation alone", [0x80]],
    ["an overlong form", [0xc0, 0xaf]],
    ["half a surrogate pair", [0xed, 0xa0, 0x80]],
    ["a character cut short, as long as what replaces it", [0xf0, 0x9f, 0x98]],
    ["U+FFFD itself, which a gateway may have put there", [0xef, 0xbf, 0xbd]],
  ])("%s: 400, through the gateway and directly", async (_, bytes) => {
    const memory = memoryApi();
    const body = put(Uint8Array.from(bytes));
    // A gateway hands the first on as text, where what is no UTF-8 is U+FFFD already.
    expect(await send(memory, body, "application/json")).toBe(400);
    expect(await send(memory, body, "application/vnd.shop+json; charset=utf-8")).toBe(400);
    const headers = { "Content-Type": "application/json" };
    const direct = { method: "POST", headers, body: new Uint8Array(body) };
    expect((await memory.api.request("/v1/transactions", direct)).status).toBe(400);
    const scans = [{ table: "accounts" }];
    const stored = await memory.call("/v1/snapshots", { reads: { scans } });
    expect(stored.body["reads"]).toMatchObject({ scans: [{ items: [] }] });
  });

  test("what is UTF-8 arrives, and U+FFFD as an escape", async () => {
    const memory = memoryApi();
    expect(await send(memory, put(Buffer.from("\\ufffd")), "application/json")).toBe(200);
    expect(await send(memory, put(Buffer.from("😀")), "application/json")).toBe(200);
    const names = ["a\\ufffd", "a😀"].map((name) => JSON.parse(`"${name}"`) as string);
    const gets = names.map((account) => ({ table: "accounts", key: { account } }));
    const text = JSON.stringify({ reads: { gets } }).replaceAll("\uFFFD", "\\ufffd");
    const answer = await memory.call("/v1/snapshots", text);
    expect(answer.body["reads"]).toMatchObject({ gets: names.map((account) => ({ account })) });
  });

  test.each([
    [
      '{"writes":[{"op":"put","table":"accounts","item":{"account":"\\ud800"}}]}',
      "writes[0].item.account",
    ],
    ['{"writes":[{"op":"delete","table":"\\udc00","key":{"account":"a"}}]}', "writes[0].table"],
    [
      condition('{"attributes":{"\\ud83d":{"exists":false}}}'),
      "conditions[0].condition.attributes.\ud83d",
    ],
    [
      condition('{"attributes":{"n":{"eq":["\\ude00\\ud83d"]}}}'),
      "conditions[0].condition.attributes.n.eq[0]",
    ],
  ])("half a surrogate pair in %s is named", async (body, field) => {
    const { call } = memoryApi();
    const answer = await call("/v1/transactions", body);
    expect(answer.body).toMatchObject({ status: 422, code: "invalid-request" });
    expect(answer.body["field"]).toBe(field);
  });

  test.each([
    ["not base64url", "é"],
    ["two spellings", `${Buffer.from('{"account":{"S":"a"}}').toString("base64url")}=`],
    ["not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")],
    ["too long", "A".repeat(limits.restCursorLengthMax + 1)],
  ])("a cursor that is %s is refused", async (_, cursor) => {
    const { call } = memoryApi();
    const reads = { scans: [{ table: "accounts", cursor }] };
    const answer = await call("/v1/snapshots", { reads });
    expect(answer.body).toMatchObject({ status: 422, field: "reads.scans[0].cursor" });
  });
});

const context = { getRemainingTimeInMillis: () => 29_000, awsRequestId: "r" };

function eventOf(parts: {
  readonly method: string;
  readonly path?: string;
  readonly headers?: APIGatewayProxyEventV2["headers"];
  readonly body?: string;
}): APIGatewayProxyEventV2 {
  const event = httpApiEvent({
    method: parts.method,
    target: parts.path ?? "/v1/transactions",
    headers: [],
    body: Buffer.from(parts.body ?? ""),
    sourceIp: "127.0.0.1",
  });
  return { ...event, headers: parts.headers ?? {} };
}

describe("events of the gateway", () => {
  test.each(["TRACE", "CONNECT", "TRACK", "PURGE", "DELETE", "get", "valueOf"])(
    "the method %s gets 405 and what the path takes",
    async (method) => {
      const { api } = memoryApi();
      const answer = await httpApiHandler(api)(eventOf({ method }), context);
      expect(answer.statusCode).toBe(405);
      expect(answer.headers).toMatchObject({ allow: "POST" });
      expect(JSON.parse(answer.body ?? "")).toMatchObject({ code: "method-not-allowed" });
    },
  );

  test.each(["ключ", "a\u0000b", "k\ud83d\ude00"])(
    "an Idempotency-Key that no header can carry (%j) is refused, not left out",
    async (key) => {
      const { api, call } = memoryApi();
      const headers = { "content-type": "application/json", "idempotency-key": key };
      const item = { account: "ada", balanceCents: 1 };
      const body = JSON.stringify({ writes: [{ op: "put", table: "accounts", item }] });
      const event = eventOf({ method: "POST", headers, body });
      expect((await httpApiHandler(api)(event, context)).statusCode).toBe(422);
      expect(await balances(call, "ada")).toEqual([undefined]);
    },
  );

  test.each([
    [{ jwt: { claims: { sub: "user-7", email: "ada@example.com" }, scopes: [] } }, "user-7"],
    [
      { iam: { userArn: "arn:aws:sts::1:assumed-role/app/i-1" } },
      "arn:aws:sts::1:assumed-role/app/i-1",
    ],
    [undefined, undefined],
  ])("the log names the caller that %j let in, and no other claim", async (authorizer, caller) => {
    const { api, lines } = memoryApi();
    const event = eventOf({ method: "GET", path: "/v1/health" });
    Object.assign(event.requestContext, { authorizer });
    await httpApiHandler(api)(event, context);
    expect(lines[0]?.fields["caller"]).toBe(caller);
    expect(JSON.stringify(lines)).not.toContain("example.com");
  });

  test("total: whatever the event holds, it answers a problem or a success", async () => {
    const { api } = memoryApi();
    const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }));
    const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}$/);
    const methods = fc.oneof(fc.constantFrom("GET", "POST", "TRACE", "HEAD", "valueOf"), token);
    const paths = fc.oneof(
      fc.constantFrom("/v1/transactions", "/v1/health", "/v1/transactions/%ff/outcome", "//", "/%"),
      text.map((each) => `/${each}`),
    );
    const headers = fc.dictionary(
      fc.oneof(text, fc.constantFrom("content-type", "idempotency-key", "x-request-id", "origin")),
      text,
      { maxKeys: 4 },
    );
    await fc.assert(
      fc.asyncProperty(methods, paths, headers, text, async (method, path, given, body) => {
        const event = eventOf({ method, path: path.replaceAll("?", ""), headers: given, body });
        const { statusCode } = await httpApiHandler(api)(event, context);
        expect([200, 204, 400, 404, 405, 413, 415, 422]).toContain(statusCode);
      }),
      { numRuns: 500 },
    );
  });
});
