/**
 * What a body sees that reads from undecided commits of its process is a state that could come to
 * be (I8), also where some of those commits are bound to fail.
 */
import { expect, test } from "vitest";
import { createClientEngine } from "../../engine/client-engine.ts";
import type { EngineTransaction } from "../../engine/types.ts";
import { type HeldProcess, heldProcess } from "./held-process.ts";

function put(tx: EngineTransaction, id: string, n: number): void {
  tx.put("items", { id: { S: id }, n: { N: n.toString() } });
}

/** Leaves the items at `n`; resolves once its put is held. */
async function heldWrite(
  app: HeldProcess,
  n: number,
  { ids, reads = [] }: { readonly ids: readonly string[]; readonly reads?: readonly string[] },
): Promise<{ readonly done: Promise<unknown>; readonly release: () => void }> {
  app.holdNextPut();
  const done = app.engine.transact({ ack: "certified" }, async (tx) => {
    for (const id of reads) await app.numberOf(tx, id);
    for (const id of ids) put(tx, id, n);
  });
  await app.heldPut;
  return { done, release: app.releasePut };
}

async function overwriteElsewhere(app: HeldProcess, id: string): Promise<void> {
  const { deployment, world } = app.cloud;
  const process = world.startProcess("foreign", { exact: true });
  const foreign = createClientEngine(deployment.clientPortsOf(process), { commit: "stream" });
  await foreign.transact({}, (tx) => {
    put(tx, id, 9);
    return Promise.resolve();
  });
}

test.each(["get", "batchGet"] as const)(
  "a commit that is bound to fail does not hide the one below it: %s",
  async (how) => {
    const app = await heldProcess();
    const { cloud } = app;
    const seen: (readonly [number, number])[] = [];
    const read = async (tx: EngineTransaction, id: string): Promise<number> => {
      if (how === "get") return app.numberOf(tx, id);
      const [item] = await tx.batchGet([{ table: "items", key: { id: { S: id } } }]);
      return app.numberOf({ get: () => Promise.resolve(item) }, id);
    };
    await cloud.run(async () => {
      await app.increment("z");
      const lower = await heldWrite(app, 2, { ids: ["a", "b"] });
      const doomed = await heldWrite(app, 3, { ids: ["b"], reads: ["z"] });
      await overwriteElsewhere(app, "z");
      const reader = app.engine.transact({}, async (tx) => {
        seen.push([await app.numberOf(tx, "a"), await read(tx, "b")]);
      });
      await cloud.world.time.sleep(300);
      lower.release();
      await cloud.world.time.sleep(100);
      doomed.release();
      await Promise.all([lower.done, doomed.done, reader]);
    });
    // Never a = 2 of the lower one beside b = 0 of the table; and it need not wait for either.
    expect(seen).toEqual([[2, 2]]);
  },
);

test.each(["stream", "auto"] as const)(
  "what rests on a commit that was given up is not read beside the absence of that: %s",
  async (commit) => {
    const app = await heldProcess({ commit });
    const { cloud } = app;
    const seen: (readonly [number, number])[] = [];
    let hasReadFirst = false;
    await cloud.run(async () => {
      await app.increment("z");
      await cloud.clock.sleep(5_000);
      const caller = new AbortController();
      app.holdNextPut();
      const ignored = (): undefined => undefined;
      const first = app.engine
        .transact({ signal: caller.signal, attemptsMax: 1 }, (tx) => {
          put(tx, "a", 2);
          return Promise.resolve();
        })
        .catch(ignored);
      await cloud.clock.sleep(50);
      const resting = app.engine
        .transact({ attemptsMax: 1 }, async (tx) => {
          put(tx, "b", (await app.numberOf(tx, "a")) + 1);
        })
        .catch(ignored);
      await cloud.clock.sleep(50);
      const reader = app.engine
        .transact({ attemptsMax: 1 }, async (tx) => {
          const b = await app.numberOf(tx, "b");
          hasReadFirst = b === 3;
          // The one that rests on the first looks at the log before it goes on, and so lives yet.
          app.slowLogMs = 80;
          await cloud.clock.sleep(150);
          caller.abort(new Error("enough"));
          await cloud.clock.sleep(5);
          seen.push([await app.numberOf(tx, "a"), b]);
        })
        .catch(ignored);
      await Promise.all([first, resting, reader]);
    });
    expect(hasReadFirst).toBe(true);
    expect(seen).toEqual([]);
  },
);
