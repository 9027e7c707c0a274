/** What consumers of changes, and those who look at them, ask of the control table. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FeedStore } from "../../core/feed-port.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";
import { startCallRecorder, type RecordedCall } from "./call-recorder.ts";
import { denied, readGrants, unused } from "./grants.ts";

const grants = readGrants();
let stores: LocalStores;

beforeAll(async () => {
  stores = await startLocalStores();
});
afterAll(() => stores.stop());

async function recorded(
  use: (feeds: FeedStore | undefined) => Promise<unknown>,
): Promise<readonly RecordedCall[]> {
  const recorder = await startCallRecorder(stores.servers.endpoint, stores.ports.names);
  const ports = stores.openPorts({ endpoint: recorder.url });
  await use(ports.feeds);
  await ports.close();
  await recorder.stop();
  return recorder.calls();
}

test("keeping a position is granted to policy feeds, and nothing else", async () => {
  const calls = await recorded(async (feeds) => {
    await feeds?.read("search");
    await feeds?.enlist("search");
    await feeds?.put("search", {
      ...{ position: undefined, holder: undefined, heldUntilMs: 0, turn: 1 },
    });
  });
  expect(denied(grants.feeds, calls)).toEqual([]);
  expect(unused(grants.feeds, calls)).toEqual([]);
});

test("seeing positions is granted to who reads, and nothing else", async () => {
  const calls = await recorded(async (feeds) => {
    expect(await feeds?.list(10)).toEqual(["search"]);
    expect(await feeds?.read("search")).toMatchObject({ turn: 1 });
  });
  expect(denied(grants.seeFeeds, calls)).toEqual([]);
  expect(unused(grants.seeFeeds, calls)).toEqual([]);
});
