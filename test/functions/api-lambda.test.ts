/** The service behind Lambda's HTTP API event, payload format 2.0. */
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import * as limits from "../../core/limits.ts";
import { httpApiHandler } from "../../functions/api/lambda-event.ts";
import { memoryApi } from "./fixtures/api-harness.ts";
import recorded from "./fixtures/http-api-event.json" with { type: "json" };

const context = { awsRequestId: "a-1", getRemainingTimeInMillis: () => 29_000 };
const event = (change: Partial<APIGatewayProxyEventV2> = {}): APIGatewayProxyEventV2 => ({
  ...(recorded as APIGatewayProxyEventV2),
  ...change,
});
const withPath = (rawPath: string, method = "GET", stage = "$default") =>
  event({
    rawPath,
    requestContext: {
      ...event().requestContext,
      stage,
      http: { ...event().requestContext.http, method, path: rawPath },
    },
  });

function bodyOf(result: { readonly body?: string | undefined }): Record<string, unknown> {
  return JSON.parse(result.body ?? "") as Record<string, unknown>;
}

describe("HTTP API event", () => {
  test("a recorded request commits, and its answer has Lambda's shape", async () => {
    const { api } = memoryApi();
    const result = await httpApiHandler(api)(event(), context);
    expect(result).toMatchObject({
      statusCode: 200,
      isBase64Encoded: false,
      headers: {
        "content-type": "application/json",
        "x-request-id": "JKJaXmPLvHcESHA=",
        "cache-control": "no-store",
      },
    });
    expect(bodyOf(result)).toMatchObject({ receipt: { attempts: 1, replayed: false } });
  });

  test("a body in base64 is the same body, and its Idempotency-Key holds across both", async () => {
    const { api, engine } = memoryApi();
    const handle = httpApiHandler(api);
    const first = await handle(event(), context);
    const body = Buffer.from(event().body ?? "").toString("base64");
    const repeat = await handle(event({ body, isBase64Encoded: true }), context);
    expect(repeat.headers?.["idempotency-replayed"]).toBe("true");
    expect(engine.bodies()).toBe(1);
    expect(bodyOf(repeat)["reads"]).toEqual(bodyOf(first)["reads"]);
  });

  test("takes paths behind a named stage, and query strings", async () => {
    const { api } = memoryApi();
    const result = await httpApiHandler(api)(
      { ...withPath("/prod/v1/health", "GET", "prod"), rawQueryString: "deep=true" },
      context,
    );
    expect(bodyOf(result)).toMatchObject({ status: "ok", checks: { log: { ok: true } } });
  });

  test.each([
    [withPath("/v1/transactions"), 405],
    [withPath("//evil.example/v1/health"), 404],
    [withPath("/v1/%zz"), 404],
    [withPath("/v1/health", "HEAD"), 200],
    [event({ body: "{" }), 400],
    [event({ headers: { "content-type": "application/json", "x-bad\n": "ключ" } }), 200],
    [event({ headers: {} }), 415],
    [event({ body: "AA==", isBase64Encoded: true }), 400],
  ])("answers odd event %# with a problem, not a crash", async (odd, status) => {
    const { api } = memoryApi();
    expect((await httpApiHandler(api)(odd, context)).statusCode).toBe(status);
  });

  test("answers before Lambda's own deadline when the engine hangs", async () => {
    const { api, engine } = memoryApi();
    engine.faults.push("hang");
    // A second until it is told to end: sent off by then, on a busy machine, too.
    const hurried = {
      ...context,
      getRemainingTimeInMillis: () => 2 * limits.restDeadlineMarginMs + 1_000,
    };
    const result = await httpApiHandler(api)(event(), hurried);
    expect(result.statusCode).toBe(503);
    expect(bodyOf(result)["outcome"]).toBe("unknown");
  });
});

describe("bundle", () => {
  test("stays below 558 KiB without the AWS SDK, and has no generator of documents", async () => {
    const { metafile, outputFiles } = await build({
      entryPoints: ["functions/api/handler.ts"],
      bundle: true,
      minify: true,
      platform: "node",
      format: "esm",
      target: "node20",
      external: ["@aws-sdk/*", "@smithy/*"],
      write: false,
      metafile: true,
    });
    expect(outputFiles[0]?.contents.length).toBeLessThan(558 * 1024);
    const inputs = Object.keys(metafile.inputs);
    expect(inputs.some((path) => path.includes("/zod/"))).toBe(true);
    expect(inputs.filter((path) => path.includes("zod-openapi"))).toEqual([]);
    expect(inputs.filter((path) => path.includes("zod-to-openapi"))).toEqual([]);
  });
});
