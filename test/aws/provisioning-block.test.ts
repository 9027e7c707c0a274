/** Blocks of provisioning in logs that are long. */
import { expect, test } from "vitest";
import { blockBehind, placeOnce } from "../../aws/provisioning-block.ts";
import { KeyHasher } from "../../core/key-hash.ts";
import * as limits from "../../core/limits.ts";
import type { Appended, CommitLog } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import { sampleHashSecret } from "../../testing/sample-hashes.ts";
import { MemoryLog } from "../engine/memory-log.ts";

const shard = "shard" as ShardId;

function placing(log: MemoryLog, append: () => Appended): Promise<number> {
  const parts = {
    log: { ...log.port, append: () => Promise.resolve(append()) } as CommitLog,
    control: {
      keyHasher: () => Promise.resolve(new KeyHasher(sampleHashSecret)),
      readWatermark: () => Promise.resolve(log.watermark),
    },
    clock: { nowMs: () => 0, sleep: () => Promise.resolve() },
    random: { bytes: (length: number) => new Uint8Array(length) },
  };
  const step = { isIt: () => false, follow: blockBehind };
  return placeOnce(parts, { shard, watermark: log.watermark }, step);
}

test("pages of a long log use up none of the tries that others' appends do", async () => {
  const log = new MemoryLog();
  log.pageBlocksMax = 1;
  for (let n = 1; n <= limits.streamSwitchTriesMax + 1; n += 1) log.append(n);
  expect(await placing(log, () => "appended")).toBe(limits.streamSwitchTriesMax + 2);
});

test("who finds its position taken at every try gives up", async () => {
  let tries = 0;
  const taken = (): Appended => {
    tries += 1;
    return { taken: undefined };
  };
  await expect(placing(new MemoryLog(), taken)).rejects.toThrow("others append at every try");
  expect(tries).toBe(limits.streamSwitchTriesMax);
});
