/** A consumer of changes needs no more than Terraform's `feeds` grants its function. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClientEngine } from "../../../engine/client-engine.ts";
import { createEngine } from "../../../engine/engine.ts";
import { createFeedMover } from "../../../engine/feed-mover.ts";
import { key, number, putAll } from "../support.ts";
import { actorAs, roles } from "./roles.ts";
import { startWorld, type World } from "./world.ts";

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());

test.each(["express", "stream"] as const)("what went %s is handled", async (commit) => {
  const { stores, plain } = world;
  const writer = createEngine(stores.openPorts(), { commit });
  await putAll(writer, plain, [{ ...key(commit), n: number(1) }]);
  await writer.close();
  const consumer = createClientEngine((await world.as("a consumer of changes")).ports);
  const wish = {
    tables: [plain.name],
    mixed: "refuse" as const,
    before: false,
    pollMs: 10,
    signal: undefined,
  };
  const given: unknown[] = [];
  const consume = () =>
    consumer.consume(
      { ...wish, name: commit, first: "oldest", until: "caught-up" },
      ({ items }) => {
        given.push(...items);
        return Promise.resolve();
      },
    );
  await consume();
  expect(given.at(-1)).toMatchObject({ key: key(commit), after: { n: number(1) } });
  const before = given.length;
  await consume();
  expect(given).toHaveLength(before);
  await consumer.close();
});

test("the rights of a consumer are enough to move its feed, and to remove it", async () => {
  const operator = createFeedMover((await world.as("a consumer of changes")).ports);
  const { feeds } = operator;
  const moved = await feeds.move("stream", { to: "oldest", again: false });
  expect(moved.before?.timestamp).toBeGreaterThan(moved.to.timestamp);
  expect(await feeds.remove("stream")).toEqual({ kind: "removed" });
  await operator.close();
});

test("with the rights of one release back, which know no list, it goes on unlisted", async () => {
  const { stores } = world;
  const [own] = roles["a consumer of changes"].filter(({ sid }) => sid === "ListOwn");
  expect(own?.leadingKeys).toEqual(["feeds"]);
  const role = "a consumer of changes";
  const actor = await actorAs(role, stores, [world.table], [], (grant) => grant !== own);
  const consumer = createClientEngine(actor.ports);
  const wish = {
    tables: undefined,
    mixed: "refuse",
    before: false,
    pollMs: 10,
    signal: undefined,
  } as const;
  await consumer.consume({ ...wish, name: "unlisted", first: "now", until: "caught-up" }, () =>
    Promise.resolve(),
  );
  expect(await stores.ports.feeds?.read("unlisted")).toMatchObject({ turn: 3, isListed: false });
  expect(await stores.ports.feeds?.list(10)).not.toContain("unlisted");
  await consumer.close();
  await actor.stop();
});
