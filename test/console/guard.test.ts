/** Who may ask the console, and who may not. */
import { describe, expect, test } from "vitest";
import { refusal, type Asking } from "../../console/server/guard.ts";

const token = "0123456789abcdef";
const open = { port: 4603, token, isLocked: false };
const locked = { ...open, isLocked: true };

function asking(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Asking {
  const all: Readonly<Record<string, string>> = { host: "127.0.0.1:4603", ...headers };
  return { method, path, header: (name) => all[name] };
}

const withToken = { authorization: `Bearer ${token}`, "content-type": "application/json" };

describe("whoever reads", () => {
  test.each(["127.0.0.1:4603", "localhost:4603", "LOCALHOST:4603"])("is let in at %s", (host) => {
    expect(refusal(asking("GET", "/api/about", { host }), open)).toBeUndefined();
  });

  test.each([
    ["a name that has come to mean this machine", "evil.example:4603"],
    ["a name that looks like it", "127.0.0.1.evil.example:4603"],
    ["another port", "127.0.0.1:4600"],
    ["no port", "127.0.0.1"],
    ["nothing", ""],
  ])("is refused under %s", (_what, host) => {
    expect(refusal(asking("GET", "/", { host }), open)?.status).toBe(421);
  });

  test("is refused without a host", () => {
    const bare: Asking = { method: "GET", path: "/", header: () => undefined };
    expect(refusal(bare, open)?.status).toBe(421);
  });

  test.each([
    ["another page's script", { origin: "http://evil.example" }],
    ["a page of another port", { origin: "http://127.0.0.1:4600" }],
    ["a page without an origin", { origin: "null" }],
    ["an image of another site", { "sec-fetch-site": "cross-site" }],
    ["a frame of another port", { "sec-fetch-site": "same-site" }],
  ])("is refused as %s", (_what, headers) => {
    expect(refusal(asking("GET", "/api/about", headers), open)?.status).toBe(403);
    expect(refusal(asking("GET", "/api/about", { ...headers, ...withToken }), open)?.status).toBe(
      403,
    );
  });

  test("may open the page by a link from anywhere, and nothing else", () => {
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    expect(refusal(asking("GET", "/", link), open)).toBeUndefined();
    expect(refusal(asking("GET", "/api/about", link), open)?.status).toBe(403);
  });

  test("needs the token where the deployment is on AWS, but not for the page itself", () => {
    expect(refusal(asking("GET", "/"), locked)).toBeUndefined();
    expect(refusal(asking("GET", "/api/about"), locked)?.status).toBe(401);
    const wrong = { authorization: `Bearer ${token.slice(1)}0` };
    expect(refusal(asking("GET", "/api/about", wrong), locked)?.status).toBe(401);
    expect(refusal(asking("GET", "/api/about", withToken), locked)).toBeUndefined();
  });
});

describe("whoever changes something", () => {
  test("needs the token, in a header that no form can send", () => {
    const json = { "content-type": "application/json" };
    expect(refusal(asking("POST", "/api/faults", withToken), open)).toBeUndefined();
    expect(refusal(asking("POST", "/api/faults", json), open)?.status).toBe(401);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", ""])(
    "sends JSON, not %j",
    (type) => {
      const headers = { ...withToken, "content-type": type };
      expect(refusal(asking("POST", "/api/faults", headers), open)?.status).toBe(415);
    },
  );

  test("is refused as a form of another page, token or not", () => {
    const form = { ...withToken, origin: "http://evil.example" };
    expect(refusal(asking("POST", "/api/faults", form), open)?.status).toBe(403);
  });
});
