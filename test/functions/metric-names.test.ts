/** Metric names are API: each is explained to operators, and the explanation names nothing else. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { functionMetrics } from "../../functions/shared/metric-names.ts";
import { shardMetrics } from "../../functions/shared/shard-metrics.ts";

const words = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
const begin = words.indexOf("## Metrics");
const table = words.slice(begin, words.indexOf("\n## ", begin));
const explained = table
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([A-Za-z]+)`/g)])
  .map(([, name]) => name);

test("docs/operations.md explains every metric of the functions, and no other", () => {
  expect(explained.toSorted()).toEqual(Object.keys(functionMetrics).toSorted());
});

test("docs/operations.md says which of them have a value for each shard", () => {
  const [, sentence = ""] = /for each shard as well:([^.]*)\./.exec(words) ?? [];
  const named = [...sentence.matchAll(/`([A-Za-z]+)`/g)].map(([, name]) => name);
  expect(named.toSorted()).toEqual([...shardMetrics].toSorted());
});
