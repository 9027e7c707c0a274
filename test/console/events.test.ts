/** The live stream's watchers: who asks for no more than its headers is none. */
import { expect, test } from "vitest";
import { systemClock } from "../../aws/system.ts";
import { Feed } from "../../console/server/feed.ts";
import * as limits from "../../console/limits.ts";
import { consoleApp } from "../../console/server/routes.ts";
import type { Sight } from "../../console/server/sight.ts";
import { UnavailableError } from "../../core/errors.ts";

test("a HEAD watches nothing: else a few would keep all pages out for good", async () => {
  const seen = () => Promise.reject(new UnavailableError("no store"));
  const sight = { clock: systemClock, isLocal: true, seen } as unknown as Sight;
  const report = () => undefined;
  const feed = new Feed({ sight, run: "run", faults: undefined, report });
  const app = consoleApp({
    ...{ sight, feed, version: "1", breaker: undefined, report },
    page: () => Promise.reject(new Error("no page")),
    door: () => ({ port: 80, token: "token", isLocked: false }),
  });
  const headers = { host: "127.0.0.1:80" };
  for (let n = 0; n <= limits.watchersMax; n += 1) {
    const { status } = await app.request("/api/events", { method: "HEAD", headers });
    expect(status).toBe(200);
  }
  expect(feed.watchers).toBe(0);
  const watched = await app.request("/api/events", { headers });
  expect(watched.status).toBe(200);
  await watched.body?.cancel();
  await feed.close();
});
