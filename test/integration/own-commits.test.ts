/**
 * What a process has committed itself and is still installing, it reads from memory: nobody waits
 * for an install to read what the process knows, and nobody reads anything else than the log says
 * (I8).
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Item, TableDescription } from "../../core/types.ts";
import type { Engine, EngineTransaction, Reader } from "../../engine/types.ts";
import type { LocalDeployment } from "../harness/local-deployment.ts";
import { startWithoutReplay } from "../harness/without-replay.ts";
import { fragileEngine, never } from "./fragile.ts";
import { key, number, numberOf, putAll, readOne } from "./support.ts";

let deployment: LocalDeployment;
let plain: TableDescription;
let kept: TableDescription;

beforeAll(async () => {
  ({ deployment, plain, kept } = await startWithoutReplay());
});
afterAll(() => deployment.stop());

/**
 * A process whose installs never end, and how often it has asked for single items, as whoever waits
 * for an install does.
 */
function slowInstaller(): { readonly engine: Engine; readonly gets: () => number } {
  let gets = 0;
  const { engine } = fragileEngine(deployment.stores, {
    items: (real) => ({
      install: () => never(),
      get(...request) {
        gets += 1;
        return real.get(...request);
      },
    }),
  });
  return { engine, gets: () => gets };
}

async function certify(engine: Engine, body: (tx: EngineTransaction) => void): Promise<void> {
  await engine.transact({ ack: "certified" }, (tx) => {
    body(tx);
    return Promise.resolve();
  });
}

test.each(["plain", "kept"])("of a %s table are read while their installs hang", async (name) => {
  const table = name === "plain" ? plain : kept;
  const keys = ["a", "b", "c"].map((pk) => ({ table: table.name, key: key(`${name}-${pk}`) }));
  const [a, b, c] = keys.map(({ key: each }) => each) as [Item, Item, Item];
  await putAll(deployment.openEngine(), table, [
    { ...a, n: number(1) },
    { ...b, n: number(1) },
  ]);
  const { engine, gets } = slowInstaller();
  await certify(engine, (tx) => {
    tx.put(table.name, { ...a, n: number(2) });
    tx.delete(table.name, b);
    tx.put(table.name, { ...c, n: number(1) });
  });
  const counted = async (reader: Reader): Promise<(number | undefined)[]> =>
    (await reader.batchGet(keys)).map((item) => (item === undefined ? undefined : numberOf(item)));
  const before = gets();
  expect((await engine.transact({}, counted)).result).toEqual([2, undefined, 1]);
  expect((await engine.snapshot({}, counted)).result).toEqual([2, undefined, 1]);
  expect(gets()).toBe(before);
  // A second commit on top: its read is certified, so it saw what the first one left.
  await certify(engine, (tx) => {
    tx.put(table.name, { ...a, n: number(3) });
  });
  expect((await engine.snapshot({}, counted)).result).toEqual([3, undefined, 1]);
  // An install on a table with history looks at the item itself.
  if (table === plain) expect(gets()).toBe(before);
});

test("are not read where another process has written since", async () => {
  const at = key("overwritten");
  const { engine } = slowInstaller();
  await certify(engine, (tx) => {
    tx.put(plain.name, { ...at, n: number(1) });
  });
  await deployment.openEngine().transact({}, async (tx) => {
    const item = await tx.get(plain.name, at);
    tx.put(plain.name, { ...at, n: number(numberOf(item) + 10) });
  });
  expect(numberOf(await readOne(engine, plain, at))).toBe(11);
  const { result } = await engine.transact({}, (tx) =>
    tx.batchGet([{ table: plain.name, key: at }]),
  );
  expect(numberOf(result[0])).toBe(11);
});
