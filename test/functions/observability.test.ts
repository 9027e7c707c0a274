/** What a function's metrics write, and that an invocation without any writes nothing. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ShardId } from "../../core/types.ts";
import { createObservability } from "../../functions/shared/powertools-observability.ts";

/**
 * Everything written to standard output (metrics) and standard error (warnings) while the test
 * runs.
 */
function written(): { readonly texts: string[] } {
  const texts: string[] = [];
  for (const stream of [process.stdout, process.stderr]) {
    const spy = vi.spyOn(stream, "write").mockImplementation((text) => {
      texts.push(String(text));
      return true;
    });
    onTestFinished(() => {
      spy.mockRestore();
    });
  }
  return { texts };
}

const identity = { role: "replay", deployment: "test", logLevel: "SILENT" } as const;

test("an invocation that measured nothing writes neither metrics nor a warning", () => {
  const { texts } = written();
  createObservability(identity).flush();
  expect(texts).toEqual([]);
});

test("an invocation's metrics are written once, by its flush", () => {
  const { texts } = written();
  const { metrics, flush } = createObservability(identity);
  metrics.count("ReplayedTransactions", 3);
  expect(texts).toEqual([]);
  flush();
  flush();
  expect(texts).toHaveLength(1);
  expect(JSON.parse(texts[0] ?? "")).toMatchObject({
    service: "tidemark-replay",
    deployment: "test",
    ReplayedTransactions: 3,
  });
});

describe("metrics of a shard", () => {
  const first = "shardId-000000000000" as ShardId;
  const second = "shard-001" as ShardId;
  const all = ["deployment", "service"];
  const own = ["deployment", "service", "shard"];

  type Line = Readonly<Record<string, unknown>> & {
    readonly _aws: {
      readonly CloudWatchMetrics: readonly { readonly Dimensions: readonly string[][] }[];
    };
  };

  /** What is written, and under which sets of dimensions. */
  function linesOf(texts: readonly string[]): readonly { line: Line; sets: unknown }[] {
    return texts.map((text) => {
      const line = JSON.parse(text) as Line;
      const sets = line._aws.CloudWatchMetrics.flatMap(({ Dimensions }) => Dimensions);
      return { line, sets: sets.map((names) => names.toSorted()) };
    });
  }

  test("are written once, for all shards and for their own", () => {
    const { texts } = written();
    const { metrics, flush } = createObservability(identity);
    metrics.count("Committed", 3, first);
    metrics.count("Committed", 4, second);
    metrics.milliseconds("WatermarkLag", 17, second);
    flush();
    const lines = linesOf(texts);
    expect(lines).toHaveLength(2);
    for (const { sets } of lines) expect(sets).toEqual([all, own]);
    expect(lines[0]?.line).toMatchObject({
      shard: first,
      service: "tidemark-replay",
      Committed: 3,
    });
    expect(lines[1]?.line).toMatchObject({ shard: second, Committed: 4, WatermarkLag: 17 });
    flush();
    expect(texts).toHaveLength(2);
  });

  test("keep their shard in the next invocation", () => {
    const { texts } = written();
    const { metrics, flush } = createObservability(identity);
    for (const value of [1, 2]) {
      metrics.count("Busy", value, second);
      flush();
    }
    const lines = linesOf(texts);
    expect(lines.map(({ sets }) => sets)).toEqual([
      [all, own],
      [all, own],
    ]);
    expect(lines.map(({ line }) => line["Busy"])).toEqual([1, 2]);
  });

  test("that tell nothing by shard are written for all alone", () => {
    const { texts } = written();
    const { metrics, flush } = createObservability(identity);
    metrics.count("Stale", 1, second);
    metrics.count("Duplicates", 2);
    flush();
    const [only, ...others] = linesOf(texts);
    expect(others).toEqual([]);
    expect(only).toMatchObject({ sets: [all], line: { Stale: 1, Duplicates: 2 } });
    expect(only?.line).not.toHaveProperty("shard");
  });
});
