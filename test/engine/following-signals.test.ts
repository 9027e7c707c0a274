/** Waits that end with their caller's signal, or before it. */
import { describe, expect, test } from "vitest";
import { follow } from "../../engine/concurrency.ts";
import { keptOf } from "../harness/garbage.ts";

describe("a controller that follows a signal", () => {
  test("aborts with it, and for its reason", () => {
    const caller = new AbortController();
    const waiting = new AbortController();
    follow(waiting, caller.signal);
    expect(waiting.signal.aborted).toBe(false);
    const reason = new Error("the caller gives up");
    caller.abort(reason);
    expect(waiting.signal.reason).toBe(reason);
  });

  test("aborts at once where the signal is aborted already", () => {
    const reason = new Error("has given up");
    const waiting = new AbortController();
    follow(waiting, AbortSignal.abort(reason));
    expect(waiting.signal.reason).toBe(reason);
  });

  test("follows no longer than it is asked to", () => {
    const caller = new AbortController();
    const waiting = new AbortController();
    follow(waiting, caller.signal)();
    caller.abort();
    expect(waiting.signal.aborted).toBe(false);
  });

  test("is let go with whoever waits, although nobody ends the wait", async () => {
    const abandoned = (): WeakRef<object> => {
      const waiting = new AbortController();
      follow(waiting, new AbortController().signal);
      waiting.signal.addEventListener("abort", () => undefined);
      return new WeakRef(waiting);
    };
    expect(await keptOf(Array.from({ length: 10 }, abandoned))).toBe(0);
  });
});
