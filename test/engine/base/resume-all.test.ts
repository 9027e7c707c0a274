/** All that are parked go on at once; what is wrong with some keeps none of the others back. */
import { beforeEach, expect, test } from "vitest";
import { CorruptDataError, StoreError } from "../../../core/errors.ts";
import * as limits from "../../../core/limits.ts";
import type { NamedBase } from "../../../engine/base/base-name.ts";
import { resumeAll } from "../../../engine/base/resume-all.ts";
import type { LooksAtBases } from "../../../engine/base/types.ts";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { clientWith, type OwnClient } from "./own-ports.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

let isMended = false;
const of = (name: string) =>
  defineBase(name, { parkAfterMs: 300 }, async (base, id: string) => {
    if (!isMended) throw new TypeError("not yet");
    await base.step("put", async (tx) => tx.put(accounts, { id, amount: 1 }));
    return id;
  });
const handlers = [of("one"), of("two")];

/** By both handlers, in turns. */
async function parked(count: number): Promise<OwnClient> {
  isMended = false;
  const own = clientWith(cloud, (ports) => ports);
  await openAccounts(own.client);
  for (let n = 0; n < count; n += 1) {
    const definition = of(n % 2 === 0 ? "one" : "two");
    await own.client.requestBase(definition, "id", { id: n.toString() });
    await cloud.clock.sleep(5);
  }
  await own.client.baseRunner({ handlers, pollMs: 50, until: "caught-up" });
  return own;
}

const texts = (named: readonly NamedBase[]): readonly string[] =>
  named.map(({ name, id }) => `${name} ${id}`);

/** Of some, what is tried fails. */
function failingWith(bases: LooksAtBases, error: Error, ids: readonly string[]) {
  let tries = 0;
  return {
    list: bases.list.bind(bases),
    resume: (base: NamedBase) => {
      tries += 1;
      return ids.includes(base.id) ? Promise.reject(error) : bases.resume(base);
    },
    triesOf: () => tries,
  };
}

test("so many, the oldest first; then the others, and then there is none", async () => {
  await cloud.run(async () => {
    const { client, engine } = await parked(5);
    const bases = await engine.base();
    const first = await resumeAll(bases, { name: undefined, basesMax: 3 });
    expect(texts(first.resumed)).toEqual(["one 0", "two 1", "one 2"]);
    expect([first.failed, first.isMore]).toEqual([[], true]);
    const ofTwo = await resumeAll(bases, { name: "two", basesMax: 3 });
    expect([texts(ofTwo.resumed), ofTwo.isMore]).toEqual([["two 3"], false]);
    const last = await resumeAll(bases, { name: undefined, basesMax: 3 });
    expect([texts(last.resumed), last.isMore]).toEqual([["one 4"], false]);
    expect(await resumeAll(bases, { name: undefined, basesMax: 3 })).toEqual({
      ...{ resumed: [], failed: [], isMore: false },
    });
    isMended = true;
    await client.baseRunner({ handlers, pollMs: 50, until: "caught-up" });
    expect(await client.openBases()).toEqual([]);
  });
});

test("what is wrong with one keeps back none of the others", async () => {
  await cloud.run(async () => {
    const { engine } = await parked(4);
    const error = new CorruptDataError("a strange row");
    const some = failingWith(await engine.base(), error, ["1"]);
    const done = await resumeAll(some, { name: undefined, basesMax: 10 });
    expect(texts(done.resumed)).toEqual(["one 0", "one 2", "two 3"]);
    expect(done.failed).toEqual([{ name: "two", id: "1", error }]);
    expect(done.isMore).toBe(false);
  });
});

test("a store that fails is not asked a thousand times", async () => {
  await cloud.run(async () => {
    const { engine } = await parked(30);
    const error = new StoreError("unavailable", "away");
    const ids = Array.from({ length: 30 }, (_, n) => n.toString());
    const some = failingWith(await engine.base(), error, ids);
    const done = await resumeAll(some, { name: undefined, basesMax: 100 });
    expect(done).toMatchObject({ resumed: [], isMore: true });
    expect(done.failed.length).toBeGreaterThanOrEqual(limits.baseLookErrorsMax);
    expect(some.triesOf()).toBeLessThan(limits.baseLookErrorsMax + limits.baseResumesAtOnce);
  });
});
