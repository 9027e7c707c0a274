/** What a function's metrics write, and that an invocation without any writes nothing. */
import { expect, onTestFinished, test, vi } from "vitest";
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
