/** What a first call says when the client's parts take longer to load than the call has time. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import type { Clock } from "../../core/ports.ts";
import { createClient } from "../../sdk/index.ts";

/** Loading ends when the test says so. */
const loading = vi.hoisted(() => {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { ended, end };
});
vi.mock("../../aws/client-ports.ts", async (original) => {
  await loading.ended;
  return original();
});

test("that nothing answers is known before all is loaded, and said when time is up", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const deadlineMs = 2_000;
  let pass: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => (pass = resolve));
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    // Whoever pauses for less than the deadline has failed once.
    sleep: (durationMs) => {
      if (durationMs < deadlineMs) pass();
      return passed;
    },
  };
  const db = createClient({ endpoint: `http://127.0.0.1:${port.toString()}`, clock });
  const failed = db.transact({ deadlineMs }, async () => 1);
  await expect(failed).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(
      /^the deadline of 2000 ms has passed \(connecting\): no stack answers at http/u,
    ) as unknown,
    deadline: { deadlineMs, phase: "connecting", attempts: 0 },
  });
  loading.end();
  await db.close();
});
