/** Processes that begin transfers in steps and crash, beside audits and runners. */
import { expect } from "vitest";
import type { TestCloud } from "../../../testing/index.ts";
import {
  accounts,
  audit,
  auditAndNote,
  entriesPerTransfer,
  ids,
  openAccounts,
  transferOf,
  whole,
} from "./transfers.ts";

export type Audited = {
  readonly seed: number;
  /** Audits that only read, at least. Over several shards each begins anew where a step commits. */
  readonly auditsMin: number;
  /** What happens to the deployment beside them. */
  readonly meanwhile?: () => Promise<void>;
};

/** Makes them, and sees to it that no audit finds another sum, and that each is made once. */
export async function auditedTransfers(
  cloud: TestCloud,
  { seed, auditsMin, meanwhile }: Audited,
): Promise<void> {
  const { clock } = cloud;
  const stop = new AbortController();
  // A random walk of its own: the cloud's randomness is its own matter.
  let state = seed * 7_919 + 11;
  const draw = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const transfer = transferOf(cloud, () => draw(400));
  const begunIds: string[] = [];
  await cloud.run(async () => {
    await openAccounts(cloud.createClient("set-up"));
    let isOver = false;
    const begun: string[] = [];
    const workers = ["one", "two"].map(async (name) => {
      for (let life = 0; life < 2; life += 1) {
        const process = cloud.startProcess(`${name}-${life.toString()}`);
        const work = (async () => {
          for (let n = 0; n < 3; n += 1) {
            const id = `${name}-${life.toString()}-${n.toString()}`;
            const from = ids[draw(ids.length)] ?? "a";
            const to = ids[(ids.indexOf(from) + 1 + draw(ids.length - 1)) % ids.length] ?? "b";
            const { accepted } = await process.client.base(transfer, { from, to }, { id });
            begun.push(id);
            if (draw(2) === 0) await accepted.result({ deadlineMs: 120_000 });
          }
        })();
        await Promise.race([work, clock.sleep(600 + draw(1_500))]);
        process.crash();
      }
    });
    const auditors = ["reads", "writes"].map(async (kind) => {
      const client = cloud.createClient(kind);
      const sums: number[] = [];
      for (let n = 0; !isOver; n += 1) {
        sums.push(
          kind === "reads" ? await audit(client) : await auditAndNote(client, n.toString()),
        );
        await clock.sleep(draw(150));
      }
      return sums;
    });
    const runners = ["runner-1", "runner-2"].map((name) =>
      cloud.createClient(name).baseRunner({
        handlers: [transfer],
        takeOverMs: 1_000,
        pollMs: 200,
        signal: stop.signal,
      }),
    );
    await Promise.all([...workers, meanwhile?.()]);
    const reader = cloud.createClient("reader");
    const untilMs = clock.monotonicMs() + 120_000;
    while ((await reader.openBases()).length > 0 && clock.monotonicMs() < untilMs) {
      await clock.sleep(500);
    }
    expect(await reader.openBases()).toEqual([]);
    isOver = true;
    const sums = await Promise.all(auditors);
    stop.abort();
    await Promise.all(runners);
    for (const each of sums) expect(new Set(each)).toEqual(new Set([whole]));
    expect(sums[0]?.length).toBeGreaterThanOrEqual(auditsMin);
    expect(sums[1]?.length).toBeGreaterThanOrEqual(1);
    begunIds.push(...begun);
  });
  expect(await cloud.settled()).toBe(true);
  for (const id of begunIds) expect(entriesPerTransfer(cloud).get(id)).toBe(2);
  expect([...new Set(entriesPerTransfer(cloud).values())]).toEqual([2]);
  const total = cloud.rows(accounts).reduce((sum, { amount }) => sum + amount, 0);
  expect(total).toBe(whole);
}
