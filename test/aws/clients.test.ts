/** Clients and ports come into being lazily, and are configured for where they go. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createAwsClients } from "../../aws/clients.ts";
import { deploymentNames } from "../../aws/names.ts";
import { systemClock, systemRandom } from "../../aws/system.ts";
import * as limits from "../../core/limits.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const loopback = "http://127.0.0.1:1";

// Whether V8 holds an object's properties as a record, not in a hash table, is visible to its own
// syntax only.
setFlagsFromString("--allow-natives-syntax");
const isRecord = runInThisContext("(object) => %HasFastProperties(object)") as (
  object: object,
) => boolean;

beforeEach(() => {
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"]) {
    vi.stubEnv(name, undefined);
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

test("importing and creating the ports loads no AWS package; the first call does", async () => {
  // Every AWS client needs the module "https", and nothing here does.
  const script = `
    import { createAwsPorts } from "./aws/ports.ts";
    const loaded = () => process.moduleLoadList.includes("NativeModule https");
    const ports = createAwsPorts({ deployment: "d", endpoint: "${loopback}", callTriesMax: 1 });
    const before = loaded();
    const failure = await ports.control.shards().catch((error) => error.name);
    console.log(JSON.stringify([before, loaded(), failure]));
    await ports.close();
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script],
    { cwd: root },
  );
  expect(JSON.parse(stdout)).toEqual([false, true, "StoreError"]);
});

describe("clients", () => {
  test("to loopback have dummy credentials and a region; HTTP/1 for Kinesis", async () => {
    const clients = createAwsClients({ endpoint: loopback });
    const { client: dynamodb } = await clients.dynamodb();
    const { client: kinesis } = await clients.kinesis();
    expect(await dynamodb.config.credentials()).toMatchObject({ accessKeyId: "test" });
    expect(await dynamodb.config.region()).toBe("us-east-1");
    expect(await dynamodb.config.maxAttempts()).toBe(limits.callTriesDefault);
    expect(kinesis.config.requestHandler.metadata?.handlerProtocol).toBe("http/1.1");
    await clients.close();
  });

  test("prepare nothing for a log; describe themselves to AWS, not to loopback", async () => {
    for (const [options, described] of [
      [{ endpoint: loopback }, false],
      [{ region: "eu-west-1" }, true],
    ] as const) {
      const clients = createAwsClients(options);
      for (const { client } of [await clients.dynamodb(), await clients.kinesis()]) {
        const middleware = client.middlewareStack.identify().join(", ");
        expect(middleware).not.toContain("loggerMiddleware");
        expect(middleware.includes("UserAgentMiddleware")).toBe(described);
      }
      await clients.close();
    }
  });

  test("are laid out for the copies that every call makes, and are still after calls", async () => {
    const clients = createAwsClients({ endpoint: loopback, callTriesMax: 1 });
    const { client: dynamodb, sdk } = await clients.dynamodb();
    const { client: kinesis } = await clients.kinesis();
    const given = new sdk.DynamoDBClient({ region: "eu-west-1", endpoint: loopback });
    expect(Object.keys(dynamodb.config).sort()).toEqual(Object.keys(given.config).sort());
    given.destroy();
    await expect(dynamodb.send(new sdk.ListTablesCommand({}))).rejects.toThrow();
    expect(isRecord(dynamodb.config)).toBe(true);
    expect(isRecord(kinesis.config)).toBe(true);
    await clients.close();
  });

  test("to loopback leave credentials of the environment alone", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "mine");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    vi.stubEnv("AWS_REGION", "eu-west-3");
    const clients = createAwsClients({ endpoint: { dynamodb: "http://localhost:8000" } });
    const { client } = await clients.dynamodb();
    expect(await client.config.credentials()).toMatchObject({ accessKeyId: "mine" });
    expect(await client.config.region()).toBe("eu-west-3");
    await clients.close();
  });

  test("to AWS speak HTTP/2 with Kinesis", async () => {
    const clients = createAwsClients({ region: "eu-west-1" });
    const { client } = await clients.kinesis();
    expect(client.config.requestHandler.metadata?.handlerProtocol).toBe("h2");
    await clients.close();
  });

  test("are built once, also by callers at the same time", async () => {
    const clients = createAwsClients({ endpoint: loopback });
    const [one, other] = await Promise.all([clients.dynamodb(), clients.dynamodb()]);
    expect(one.client).toBe(other.client);
    expect((await clients.dynamodb()).client).toBe(one.client);
    await clients.close();
  });

  test("that were given are used as they are, and are not destroyed", async () => {
    const given = new DynamoDBClient({ region: "eu-west-1" });
    const destroy = vi.spyOn(given, "destroy");
    const state = (): unknown => [given.middlewareStack.identify(), isRecord(given.config)];
    const before = state();
    const clients = createAwsClients({ dynamodb: given });
    expect((await clients.dynamodb()).client).toBe(given);
    expect(state()).toEqual(before);
    await clients.close();
    expect(destroy).not.toHaveBeenCalled();
    given.destroy();
  });

  test.each(["localhost:8000", "ftp://localhost", ""])("refuse the endpoint %j", (endpoint) => {
    expect(() => createAwsClients({ endpoint })).toThrow(/not an http or https URL/);
  });
});

describe("names", () => {
  test("derive from the deployment", () => {
    expect(deploymentNames("prod-1")).toEqual({
      deployment: "prod-1",
      stream: "tidemark-prod-1-commits",
      logTable: "tidemark-prod-1-log",
      controlTable: "tidemark-prod-1-control",
      versionsTable: "tidemark-prod-1-versions",
    });
  });

  test("hold up to the longest deployment name, and no longer", () => {
    const longest = "d".repeat(limits.deploymentNameLengthMax);
    expect(deploymentNames(longest).stream.length).toBeLessThanOrEqual(128);
    for (const name of ["", `${longest}d`, "a b", "a/b", "ä"]) {
      expect(() => deploymentNames(name)).toThrow(/must be 1 to 64 characters/);
    }
  });
});

describe("the machine's clock and randomness", () => {
  test("sleep ends early with the signal's own reason", async () => {
    const reason = new Error("enough");
    await expect(systemClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const sleep = systemClock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(sleep).rejects.toBe(reason);
    await expect(systemClock.sleep(-5)).resolves.toBeUndefined();
  });

  test("bytes come in any length, and differ", () => {
    for (const length of [0, 1, 65_536, 65_537]) {
      expect(systemRandom.bytes(length)).toHaveLength(length);
    }
    expect(
      systemRandom
        .bytes(70_000)
        .subarray(65_536)
        .some((byte) => byte !== 0),
    ).toBe(true);
    expect(systemRandom.bytes(16)).not.toEqual(systemRandom.bytes(16));
  });
});
