/**
 * Calls that make tables and streams: errors that say no more than that it is done already, and
 * waiting until what was made can be used.
 */
import { StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Clock } from "../core/ports.ts";
import { callRead } from "./call.ts";

type ResourceCall<Output> = {
  readonly operation: string;
  /** The name of the error that is an answer too. */
  readonly unless: string;
  readonly send: () => Promise<Output>;
};

/**
 * Undefined when the call is refused with exactly this error.
 * @throws StoreError for every other one.
 */
export async function outputUnless<Output>({
  operation,
  unless,
  send,
}: ResourceCall<Output>): Promise<Output | undefined> {
  try {
    return await callRead({ operation, send, options: undefined });
  } catch (error) {
    if (error instanceof StoreError && error.code === unless) return undefined;
    throw error;
  }
}

type Waiting = {
  readonly clock: Clock;
  /** For the message. */
  readonly what: string;
  readonly isReady: () => Promise<boolean>;
};

/** @throws StoreError after `limits.provisionWaitMsMax`; whatever the look throws. */
export async function untilReady({ clock, what, isReady }: Waiting): Promise<void> {
  const startedMs = clock.monotonicMs();
  let pauseMs = 5;
  while (!(await isReady())) {
    if (clock.monotonicMs() - startedMs > limits.provisionWaitMsMax) {
      throw new StoreError("unavailable", `${what} did not become active in time`);
    }
    await clock.sleep(pauseMs);
    pauseMs = Math.min(pauseMs * 2, 2_000);
  }
}
