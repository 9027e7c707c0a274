/** What a process has missed while something kept it busy does not come as a passed deadline. */
import { stat } from "node:fs";
import { expect, test } from "vitest";
import { systemClock } from "../../aws/system.ts";
import { Call } from "../../engine/call.ts";

test("what arrived in time is heard before the deadline, however late its timer runs", async () => {
  const heard: string[] = [];
  const call = new Call(systemClock, { deadlineMs: 1 });
  const passed = new Promise<void>((resolve) => {
    call.signal.addEventListener("abort", () => {
      heard.push("deadline");
      resolve();
    });
  });
  // The only thing that is asked of the machine, and it is answered while nobody listens.
  const busy = new Int32Array(new SharedArrayBuffer(4));
  stat(new URL(import.meta.url), () => heard.push("answer"));
  Atomics.wait(busy, 0, 0, 50);
  await passed;
  expect(heard).toEqual(["answer", "deadline"]);
});
