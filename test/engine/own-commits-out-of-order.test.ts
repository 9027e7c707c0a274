/**
 * Requests of one process that reach the log in another order than that in which their transactions
 * were sealed: what others of the process read meanwhile.
 */
import { expect, test } from "vitest";
import { type HeldProcess, heldProcess } from "./held-process.ts";

/** Leaves both items at `n`, or only "b", without reading either. */
function write(app: HeldProcess, n: number, ids: readonly string[]): Promise<unknown> {
  return app.engine.transact({ ack: "certified" }, (tx) => {
    for (const id of ids) tx.put("items", { id: { S: id }, n: { N: n.toString() } });
    return Promise.resolve();
  });
}

test("a commit that is decided does not hide one below it that is not", async () => {
  const app = await heldProcess();
  const { cloud } = app;
  const seen: (readonly [number, number])[] = [];
  await cloud.run(async () => {
    app.holdNextPut();
    const releaseInstalls = app.holdInstalls();
    const earlier = write(app, 2, ["a", "b"]);
    await app.heldPut;
    await write(app, 3, ["b"]);
    // On top of the tables, where "b" is 3, stands the earlier one, which leaves both at 2.
    const reader = app.engine.transact({}, async (tx) => {
      seen.push([await app.numberOf(tx, "a"), await app.numberOf(tx, "b")]);
    });
    await cloud.world.time.sleep(500);
    app.releasePut();
    await Promise.all([earlier, reader]);
    releaseInstalls();
  });
  expect(seen).toEqual([[2, 2]]);
  await cloud.settled();
  expect(app.rows()).toMatchObject({ a: 2, b: 2 });
});

test("what was committed last is read from memory, not what was sealed last", async () => {
  const app = await heldProcess();
  const { cloud } = app;
  await cloud.run(async () => {
    app.holdNextPut();
    const releaseInstalls = app.holdInstalls();
    const earlier = write(app, 2, ["b"]);
    await app.heldPut;
    await write(app, 3, ["b"]);
    app.releasePut();
    await earlier;
    const beganMs = cloud.clock.nowMs();
    const { result } = await app.engine.transact({}, (tx) => app.numberOf(tx, "b"));
    expect(result).toBe(2);
    // Nobody else has installed it meanwhile, and nobody was waited for.
    expect(cloud.clock.nowMs() - beganMs).toBeLessThan(100);
    releaseInstalls();
  });
  await cloud.settled();
  expect(app.rows()).toMatchObject({ b: 2 });
});
