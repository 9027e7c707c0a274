/**
 * The code does what the model says: every committed trace of the model, replayed on the real
 * oracle, replay, reads and installs; and mistakes put around the real oracle do not go unnoticed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { LogPosition } from "../../core/types.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";

import type { OraclePorts } from "../../model/harness/actors.ts";
import { replayTrace } from "../../model/harness/replayer.ts";
import { featuresOf } from "../../model/harness/select-traces.ts";
import { formatTrace, parseTrace, type Trace } from "../../model/harness/trace.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const folder = fileURLToPath(new URL("../../model/traces/", import.meta.url));
const files = readdirSync(folder).sort();
const traces = files.map((file) => parseTrace(readFileSync(`${folder}${file}`, "utf8")));

test.each(files.map((file, index) => [file, traces[index]] as const))(
  "does what the model does in trace %s",
  async (_file, trace) => {
    expect(trace && (await replayTrace(trace))).toBeUndefined();
  },
);

test("has traces that between them show every kind of step and answer", () => {
  const shown = new Set(traces.flatMap((trace) => [...featuresOf(trace)]));
  expect([...shown]).toEqual(
    expect.arrayContaining([
      ...["ClientRead", "ClientSend", "ClientResend", "ClientInstall", "ClientCrash", "Probe"],
      ...["OracleCertify", "OraclePut", "OracleCrash", "Arrive", "Copy", "Reap"],
      ...["ReplayStart", "ReplayInstall", "ReplayCrash"],
      ...["verdict commit", "verdict conflict", "verdict stale", "verdict probed", "duplicate"],
      ...["taken", "appended", "helper", "extended", "read conflict", "nothing missing"],
      ...["ClientInstall superseded", "ReplayInstall superseded", "watermark after install"],
      ...["ClientSend aborted", "ClientResend aborted"],
    ]),
  );
});

test("writes a trace as it has read it", () => {
  for (const [index, file] of files.entries()) {
    const trace = traces[index];
    expect(trace && formatTrace(trace)).toBe(readFileSync(`${folder}${file}`, "utf8"));
  }
});

async function firstDifferences(
  around: (ports: OraclePorts) => OraclePorts,
): Promise<readonly string[]> {
  const found = await Promise.all(traces.map((trace) => replayTrace(trace, { around })));
  return found.flatMap((difference) => (difference === undefined ? [] : [difference.what]));
}

describe("notices an oracle", () => {
  test("that puts its block over another's", async () => {
    const overwrites = ({ log }: OraclePorts): OraclePorts => ({
      log: {
        ...log,
        append: async (shard, block) => {
          const result = await log.append(shard, block);
          return result === "appended" ? result : "appended";
        },
      },
    });
    expect(await firstDifferences(overwrites)).not.toEqual([]);
  });

  test("that rebuilds from all but the newest block", async () => {
    const forgets = ({ log }: OraclePorts): OraclePorts => ({
      log: {
        ...log,
        readBackward: async (shard, options) => {
          const blocks = await log.readBackward(shard, options);
          return options.from === undefined ? blocks.slice(1) : blocks;
        },
      },
    });
    expect(await firstDifferences(forgets)).not.toEqual([]);
  });

  test("whose index has lost what the log's newest block wrote", async () => {
    const forgets = ({ log }: OraclePorts): OraclePorts => ({
      log: {
        ...log,
        readBackward: async (shard, options) => {
          const blocks = await log.readBackward(shard, options);
          return blocks.map(({ bytes, position }) => ({
            position,
            bytes: withoutWrites(bytes, position),
          }));
        },
      },
    });
    expect(await firstDifferences(forgets)).toContain("draft of o1");
  });

  test.each([1, 3])("that remembers %i decisions instead of 2", async (window) => {
    const found = await Promise.all(traces.map((trace) => replayTrace({ ...trace, window })));
    expect(found.map((difference) => difference?.what)).toContain("draft of o1");
  });
});

/**
 * The block with every commit turned into an abort: the same timestamps, and nothing for an index.
 */
function withoutWrites(bytes: Uint8Array, position: LogPosition): Uint8Array {
  const block = decodeLogBlock(bytes, position, sampleHashes);
  const verdicts = block.verdicts.map((verdict) =>
    verdict.kind === "committed"
      ? ({
          kind: "aborted",
          id: verdict.id,
          timestamp: verdict.timestamp,
          reason: { kind: "probed" },
        } as const)
      : verdict,
  );
  return encodeLogBlock({ ...block, verdicts });
}

describe("notices a trace that tells another story", () => {
  const altered: readonly (readonly [string, (trace: Trace) => Trace])[] = [
    ["of the watermark", (trace) => withLast(trace, (state) => ({ mark: state.mark + 1 }))],
    ["of the store", (trace) => withLast(trace, ({ store }) => ({ store: { ...store, a: 99 } }))],
    ["of the log", (trace) => withLast(trace, ({ log }) => ({ log: log.slice(0, -1) }))],
  ];
  test.each(altered)("%s", async (_what, alter) => {
    const [trace] = traces;
    expect(trace && (await replayTrace(alter(trace)))).toBeDefined();
  });
});

function withLast(
  trace: Trace,
  change: (state: Trace["initial"]) => Partial<Trace["initial"]>,
): Trace {
  const last = trace.steps.at(-1);
  if (last === undefined) throw new Error("a trace has steps");
  const after = { ...last.after, ...change(last.after) };
  return { ...trace, steps: [...trace.steps.slice(0, -1), { ...last, after }] };
}
