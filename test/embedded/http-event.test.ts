/** HTTP requests and answers as an HTTP API translates them (payload format 2.0). */
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { httpApiEvent, httpResponse, type HttpRequest } from "../../localstack/http-event.ts";

const request = (given: Partial<HttpRequest>): HttpRequest => ({
  method: "GET",
  target: "/",
  headers: [],
  body: Buffer.alloc(0),
  sourceIp: "127.0.0.1",
  ...given,
});

describe("a request", () => {
  test("repeated headers and parameters are joined by commas, cookies are split off", () => {
    const event = httpApiEvent(
      request({
        target: "/a%20b?x=1&y=2&x=3",
        headers: [
          ["accept", "a"],
          ["cookie", "c=1; d=2"],
          ["accept", "b"],
        ],
      }),
    );
    expect(event).toMatchObject({
      rawPath: "/a%20b",
      rawQueryString: "x=1&y=2&x=3",
      queryStringParameters: { x: "1,3", y: "2" },
      headers: { accept: "a,b" },
      cookies: ["c=1", "d=2"],
    });
    expect(event.headers).not.toHaveProperty("cookie");
  });

  test("a request without query and body has no members for them", () => {
    const event = httpApiEvent(request({}));
    expect(event).not.toHaveProperty("queryStringParameters");
    expect(event).not.toHaveProperty("body");
    expect(event.rawQueryString).toBe("");
  });

  test.each([
    ["application/json", false],
    ["application/problem+json; charset=utf-8", false],
    ["text/plain", false],
    ["application/x-www-form-urlencoded", false],
    ["application/octet-stream", true],
    ["image/png", true],
  ])("a body of type %s is base64: %s", (type, base64) => {
    const body = Buffer.from("grüße");
    const event = httpApiEvent(request({ headers: [["content-type", type]], body }));
    expect(event.isBase64Encoded).toBe(base64);
    expect(Buffer.from(event.body ?? "", base64 ? "base64" : "utf8")).toEqual(body);
  });

  test("names that mean something to JavaScript are names like any other", () => {
    const event = httpApiEvent(request({ target: "/?__proto__=x&constructor=y" }));
    expect(Object.entries(event.queryStringParameters ?? {})).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
    ]);
  });
});

describe("an answer", () => {
  const text = (answer: unknown): unknown => {
    const { status, headers, body } = httpResponse(answer);
    return { status, headers, body: body.toString() };
  };

  test("status, headers, cookies and body are passed on", () => {
    const answer = { statusCode: 409, headers: { "X-A": "1" }, cookies: ["c=1"], body: "no" };
    const headers = [
      ["x-a", "1"],
      ["set-cookie", "c=1"],
    ];
    expect(text(answer)).toEqual({ status: 409, headers, body: "no" });
  });

  test("a base64 body is decoded", () => {
    const body = Buffer.from([0, 255, 1]);
    const answer = { statusCode: 200, isBase64Encoded: true, body: body.toString("base64") };
    expect(httpResponse(answer).body).toEqual(body);
  });

  test("a value without a status is a body of its own", () => {
    const headers = [["content-type", "application/json"]];
    expect(text({ a: 1 })).toEqual({ status: 200, headers, body: '{"a":1}' });
    expect(text("hi")).toEqual({ status: 200, headers, body: "hi" });
  });

  test.each([
    ["nothing", undefined],
    ["a status that is none", { statusCode: "many" }],
    ["a status out of range", { statusCode: 600 }],
    [
      "a body above Lambda's limit",
      { statusCode: 200, body: "x".repeat(limits.invocationPayloadBytesMax + 1) },
    ],
  ])("%s is a server error", (_title, answer) => {
    expect(httpResponse(answer).status).toBe(500);
  });
});
