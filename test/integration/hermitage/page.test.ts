/** The verdicts drawn from the scripts' results, and docs/hermitage.md, which shows both. */
import { describe, expect, test } from "vitest";
import { anomalies } from "./interleaving.ts";
import { interleavings, mustPrevent } from "./interleavings.ts";
import { expectedAt, hermitagePage, isPrevented } from "./page.ts";
import { levels } from "./script.ts";

describe.each(levels)("%s", (level) => {
  test.each(anomalies)("prevents %s (%s) exactly if its definition says so", (anomaly) => {
    expect(isPrevented(anomaly, level)).toBe(mustPrevent(anomaly, level));
  });
});

test.each(interleavings)("$anomaly, $title: would be noticed if it occurred", (interleaving) => {
  const results = expectedAt(interleaving, "serializable");
  for (const [step, gave] of Object.entries(interleaving.witness)) {
    expect([...results.keys()]).toContain(step);
    results.set(step, gave);
  }
  expect(interleaving.occurs((step) => results.get(step))).toBe(true);
});

test("docs/hermitage.md shows the scripts as they run (write it anew: `vitest -u`)", async () => {
  await expect(await hermitagePage()).toMatchFileSnapshot("../../../docs/hermitage.md");
});
