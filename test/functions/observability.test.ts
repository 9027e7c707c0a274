/** What a function's metrics write, and that an invocation without any writes nothing. */
import { expect, onTestFinished, test, vi } from "vitest";
import { createObservability } from "../../functions/shared/observability.ts";

/** Everything written to standard output while the test runs; warnings go there or to the console. */
function written(): { readonly texts: string[] } {
  const texts: string[] = [];
  const output = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    texts.push(String(text));
    return true;
  });
  const warnings = vi.spyOn(console, "warn").mockImplementation((text: unknown) => {
    texts.push(String(text));
  });
  onTestFinished(() => {
    output.mockRestore();
    warnings.mockRestore();
  });
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
