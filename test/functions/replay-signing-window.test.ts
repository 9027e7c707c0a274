/** Until when replay may sign an install, and what it must not install any more. */
import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { Ports } from "../../core/ports.ts";
import type { LogPosition, ShardId, Timestamp, Watermark } from "../../core/types.ts";
import { SigningWindow } from "../../functions/replay/signing-window.ts";

function windowOn(state: { nowMs: number; timestamp: number }): SigningWindow {
  const ports = {
    clock: { nowMs: () => state.nowMs },
    control: {
      readWatermark: (): Promise<Watermark> => {
        const timestamp = state.timestamp as Timestamp;
        return Promise.resolve({ position: 1 as LogPosition, timestamp, cursor: undefined });
      },
    },
  };
  return new SigningWindow(
    ports as unknown as Pick<Ports, "clock" | "control">,
    "shardId-000000000000" as ShardId,
    {},
  );
}

test("signs what the watermark has not passed within the window, and no more", async () => {
  const state = { nowMs: 1_000, timestamp: 50 };
  const window = windowOn(state);
  expect(await window.signBeforeMs(51 as Timestamp)).toBe(1_000 + limits.installSignMsMax);
  expect(await window.signBeforeMs(50 as Timestamp)).toBeUndefined();
});

test("a process frozen within a chunk installs nothing of what was passed meanwhile", async () => {
  const state = { nowMs: 1_000, timestamp: 50 };
  const window = windowOn(state);
  expect(await window.signBeforeMs(60 as Timestamp)).toBeDefined();
  // Another replay has gone on to the middle of this one's chunk, and the reaper has followed it.
  state.nowMs += 2 * limits.tombstoneGraceMs;
  state.timestamp = 80;
  expect(await window.signBeforeMs(60 as Timestamp)).toBeUndefined();
  expect(await window.signBeforeMs(90 as Timestamp)).toBe(state.nowMs + limits.installSignMsMax);
});

test("a clock that is set back gives no longer window", async () => {
  const state = { nowMs: 100_000, timestamp: 0 };
  const window = windowOn(state);
  await window.signBeforeMs(1 as Timestamp);
  state.nowMs = 40_000;
  expect(await window.signBeforeMs(1 as Timestamp)).toBe(40_000 + limits.installSignMsMax);
});
