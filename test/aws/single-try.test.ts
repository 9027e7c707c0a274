/**
 * An append that is heard at once: nothing repeats it, whoever has made the client. And what is
 * asked of a store that does not tell what stands in a put's way.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import type { Appended } from "../../core/ports.ts";
import type { LogPosition } from "../../core/types.ts";
import {
  awsError,
  startFaultyProxy,
  type Fault,
  type FaultyProxy,
} from "../harness/faulty-proxy.ts";
import { localIdentity } from "../harness/local-servers.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
let proxy: FaultyProxy;
let position = 0;

beforeAll(async () => {
  stores = await startLocalStores();
  proxy = await startFaultyProxy(stores.servers.endpoint.dynamodb);
});
afterEach(() => {
  proxy.reset();
});
afterAll(async () => {
  await stores.stop();
  await proxy.stop();
});

/** Of an application that tries what failed again, five times at least. */
const clients: Readonly<Record<string, DynamoDBClientConfig>> = {
  "the default": {},
  "an adaptive one": { retryMode: "adaptive" },
  "one with a strategy of its own": {
    retryStrategy: {
      acquireInitialRetryToken: () => Promise.resolve(token(0)),
      refreshRetryTokenForRetry: (last, { errorType }) => {
        if (errorType === "CLIENT_ERROR" || last.getRetryCount() > 5) throw new Error("enough");
        return Promise.resolve(token(last.getRetryCount() + 1));
      },
      recordSuccess: () => undefined,
    },
  },
};

function token(tries: number) {
  return { getRetryCount: () => tries, getRetryDelay: () => 0 };
}

async function append(config: DynamoDBClientConfig): Promise<Appended> {
  const client = new DynamoDBClient({
    ...localIdentity,
    ...{ endpoint: proxy.url, maxAttempts: 5 },
    ...config,
  });
  position += 1;
  const block = { position: position as LogPosition, bytes: Uint8Array.of(position) };
  try {
    const { log } = stores.openPorts({ dynamodb: client });
    return await log.append(stores.shard, block, { once: true });
  } finally {
    client.destroy();
  }
}

const faults: readonly (readonly [string, string, Fault])[] = [
  ["throttled", "throttled", awsError(400, "ProvisionedThroughputExceededException")],
  ["failing", "unavailable", awsError(500, "InternalServerError")],
  ["cut off", "unavailable", { kind: "cut-before" }],
  ["denied", "rejected", awsError(400, "AccessDeniedException")],
];

for (const [of, config] of Object.entries(clients)) {
  test.each(faults)(
    `with ${of}, that a store is %s is heard after one try`,
    async (_, fault, by) => {
      proxy.fail("PutItem", by, by);
      await expect(append(config)).rejects.toMatchObject({ fault });
      expect(proxy.seen("PutItem")).toBe(1);
    },
  );

  test(`with ${of}, a signature that came late is made anew`, async () => {
    const body = { __type: "InvalidSignatureException", message: "Signature expired: 1 is now 2" };
    proxy.fail("PutItem", { kind: "answer", status: 403, body });
    expect(await append(config)).toBe("appended");
    expect(proxy.seen("PutItem")).toBe(2);
  });
}

test("what stands in a put's way is asked of a store until it does not tell", async () => {
  const { log } = stores.openPorts({ endpoint: { dynamodb: proxy.url, kinesis: proxy.url } });
  const asked = async (at: number): Promise<boolean> => {
    const block = { position: at as LogPosition, bytes: Uint8Array.of(at) };
    await log.append(stores.shard, block, { once: true });
    const body = proxy.bodies("PutItem").at(-1) as Record<string, unknown>;
    return "ReturnValuesOnConditionCheckFailure" in body;
  };
  expect(await asked(1_000)).toBe(true);
  expect(await asked(1_000)).toBe(true);
  // dynalite refuses, and does not say what stands there; DynamoDB Local does, as AWS.
  const tells = stores.servers.dynamoDbLocal;
  expect(await asked(1_001)).toBe(tells);
  expect(await asked(1_000)).toBe(tells);
});

test("a store that takes the question for a mistake is asked it once", async () => {
  const { log } = stores.openPorts({ endpoint: { dynamodb: proxy.url, kinesis: proxy.url } });
  proxy.fail("PutItem", awsError(400, "ValidationException"));
  for (const at of [2_000, 2_001]) {
    const block = { position: at as LogPosition, bytes: Uint8Array.of(1) };
    expect(await log.append(stores.shard, block, { once: true })).toBe("appended");
  }
  expect(proxy.seen("PutItem")).toBe(3);
});
