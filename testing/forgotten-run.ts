/**
 * A call of a client outside of `cloud.run` waits for a time that never passes: a test would end by
 * its runner's own limit, without a word. Real time finds that out: time that did not begin to pass
 * for a second after the call never will.
 */
import { InvalidRequestError } from "../core/errors.ts";
import type { ClientEngine } from "../engine/types.ts";
import { afterRealTime } from "./kernel/macrotask.ts";
import type { VirtualTime } from "./kernel/virtual-time.ts";

const patienceMs = 1_000;

/** The engine, whose calls fail with a hint where `cloud.run` was forgotten. */
export function hintingEngine(engine: ClientEngine, time: VirtualTime): ClientEngine {
  return {
    transact: (options, body, codec) =>
      unlessForgotten(engine.transact(options, body, codec), time),
    snapshot: (options, body) => unlessForgotten(engine.snapshot(options, body), time),
    outcome: (id, options) => unlessForgotten(engine.outcome(id, options), time),
    base: () => engine.base(),
    changes: (options) => engine.changes(options),
    consume: (options, handle) => unlessForgotten(engine.consume(options, handle), time),
    native: {
      mixedTables: () => unlessForgotten(engine.native.mixedTables(), time),
      clearFence: (at) => unlessForgotten(engine.native.clearFence(at), time),
    },
    close: () => unlessForgotten(engine.close(), time),
  };
}

function unlessForgotten<Result>(call: Promise<Result>, time: VirtualTime): Promise<Result> {
  if (time.isRunning) return call;
  const { runs } = time;
  return new Promise<Result>((resolve, reject) => {
    const cancel = afterRealTime(patienceMs, () => {
      if (time.runs !== runs) return;
      reject(
        new InvalidRequestError(
          "cloud.run",
          "virtual time passes only within `cloud.run`, and this call waits outside of it: " +
            "`await cloud.run(() => …)`",
        ),
      );
    });
    call.then(resolve, reject).finally(cancel);
  });
}
