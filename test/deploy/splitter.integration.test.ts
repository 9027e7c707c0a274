/**
 * The splitter as it is deployed: its zip, with the module's variables, splits a busy shard, and is
 * granted just the calls that it makes for that.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Timestamp } from "../../core/types.ts";
import { scheduledEvent } from "../../localstack/lambda-runtime.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { loadedBlocks } from "../harness/loaded-log.ts";
import {
  functionProcess,
  startBundledDeployment,
  type BundledDeployment,
} from "./bundled-deployment.ts";
import { denied, readGrants, unused } from "./grants.ts";
import type { InvocationOutcome, LambdaProcess } from "./lambda-process.ts";

const { split: granted } = readGrants();
const windowSeconds = 60;
const variables = {
  TIDEMARK_SPLIT_ENTRIES_PER_SECOND: "2",
  TIDEMARK_SPLIT_WINDOW_SECONDS: windowSeconds.toString(),
  TIDEMARK_SPLIT_COOL_DOWN_SECONDS: windowSeconds.toString(),
};

let deployed: BundledDeployment;
let splitter: LambdaProcess;

beforeAll(async () => {
  const table = {
    name: "plain-to-split",
    partitionKey: { name: "id", type: "S" },
    history: false,
  } as const;
  // Before the load that is made below.
  const createdAt = ((Date.now() - 10 * windowSeconds * 1_000) * 1_000) as Timestamp;
  deployed = await startBundledDeployment([table], { deployment: "busy", createdAt });
  const { url } = deployed.recorders.splitter;
  splitter = await functionProcess("splitter", url, { deployment: "busy", variables });
}, 120_000);

afterAll(async () => {
  await splitter.stop();
  await deployed.stop();
});

function run(): Promise<InvocationOutcome> {
  return splitter.invoke(scheduledEvent("splitter", "us-east-1"));
}

test("splits a shard whose log is busy, and is granted what that takes alone", async () => {
  const { ports, shard } = deployed;
  const hashes = new KeyHashes(await ports.control.keyHasher(shard));
  const nowMs = Date.now();
  const load = Array.from({ length: 2 * windowSeconds }, (_, i) => ({
    atMs: nowMs - windowSeconds * 1_000 + 500 * (i + 1),
    partitions: [1, 2, 3, 4].map((n) => n * 1_000_000_000),
  }));
  const after = await ports.control.readWatermark(shard);
  for (const block of loadedBlocks(hashes, load, after)) {
    expect(await ports.log.append(shard, block)).toBe("appended");
  }
  expect(await run()).toMatchObject({ kind: "result" });
  expect((await ports.control.shardMap())?.entries).toMatchObject([
    { number: 0, from: 0 },
    { number: 1, from: 2_500_000_000 },
  ]);
  expect(await run()).toMatchObject({ kind: "result" });
  expect((await ports.control.shardMap())?.entries).toHaveLength(2);
  const calls = deployed.recorders.splitter.calls();
  expect(denied(granted, calls)).toEqual([]);
  expect(unused(granted, calls)).toEqual([]);
}, 60_000);

test("is granted no item, no other shard's spilled payload, no registry to write", () => {
  const put = (on: "control" | "log" | "tables", key: string) =>
    ({ action: "dynamodb:PutItem", on, leadingKeys: [key] }) as const;
  for (const call of [
    put("log", "spill#1"),
    put("control", "registry"),
    put("control", "secret"),
  ]) {
    expect(denied(granted, [call])).toHaveLength(1);
  }
  expect(denied(granted, [put("tables", "a")])).toHaveLength(1);
});

test("a variable that is wrong stops it at its start, by name", async () => {
  const wrong = await functionProcess("splitter", deployed.recorders.splitter.url, {
    ...{ deployment: "busy", variables: { TIDEMARK_SPLIT_SHARDS_MAX: "many" } },
  });
  const outcome = await wrong.invoke(scheduledEvent("splitter", "us-east-1"));
  expect(outcome.kind === "error" ? outcome.message : outcome.kind).toMatch(
    /TIDEMARK_SPLIT_SHARDS_MAX: .* must be a whole number from 2 to 64; got many/,
  );
  await wrong.stop();
}, 60_000);
