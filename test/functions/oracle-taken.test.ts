/** An oracle whose position is taken: it follows what others have appended, and goes on. */
import { describe, expect, test } from "vitest";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { createOracleService, type OracleService } from "../../functions/oracle/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { startTimestamp } from "../core/oracle-harness.ts";
import { MemoryLog } from "./memory-log.ts";
import { shard, keyHashOf, request, record, kindsOf } from "./oracle-batches.ts";

const ample = { remainingMs: () => 60_000 };

/** Conflicting requests over three records; the last has one that must abort. */
const stream = [
  record(1, [request(1, "a"), request(2, "b")]),
  record(2, [request(3, "c", { checks: [keyHashOf("x")] })]),
  record(3, [request(4, "d", { checks: [keyHashOf("y"), keyHashOf("a")] }), request(5, "a")]),
];
const expectedKinds = ["committed", "committed", "committed", "conflict", "committed"];

describe("a position that is taken", () => {
  /** Two services, both warm at the same position. */
  async function twoWarm(log: MemoryLog): Promise<readonly [OracleService, OracleService]> {
    const services = [createOracleService(log.ports()), createOracleService(log.ports())] as const;
    await services[0].handle({ shard, records: stream.slice(0, 1) }, ample);
    await services[1].handle({ shard, records: stream.slice(0, 1) }, ample);
    return services;
  }

  test.each([
    { says: true, calls: 2, what: "the refused put, and the put behind it" },
    { says: false, calls: 3, what: "a page of the log, too, where the store does not say more" },
  ])("costs $what: no rebuild and no pause", async ({ says, calls }) => {
    const log = new MemoryLog(startTimestamp);
    log.saysWhatIsTaken = says;
    const [first, second] = await twoWarm(log);
    await first.handle({ shard, records: stream.slice(1, 2) }, ample);
    const before = log.calls;
    const report = await second.handle({ shard, records: stream }, ample);
    expect(log.calls - before).toBe(calls);
    expect(report).toMatchObject({ taken: 1, rebuilds: 0, blocks: 1 });
    expect(log.sleeps).toEqual([]);
    expect(kindsOf(log)).toEqual(expectedKinds);
  });

  test("I3, I4: what others decided counts, and what was drafted in vain does not", async () => {
    const log = new MemoryLog(startTimestamp);
    const [first, second] = await twoWarm(log);
    await first.handle({ shard, records: [record(2, [request(11, "x")])] }, ample);
    const records = [
      record(2, [request(11, "x")]),
      record(3, [
        request(12, "y", { checks: [keyHashOf("x")] }),
        request(13, "z", { checks: [keyHashOf("y")] }),
      ]),
    ];
    // In the lost draft 12 was committed, and stood in the way of 13.
    await second.handle({ shard, records }, ample);
    expect(kindsOf(log).slice(2)).toEqual(["committed", "conflict", "committed"]);
  });

  test("is no warning: others commit, too", async () => {
    const log = new MemoryLog(startTimestamp);
    const [first] = await twoWarm(log);
    const warned: string[] = [];
    const { log: quiet, metrics } = silentObservability;
    const observability = {
      metrics,
      log: { ...quiet, warn: (text: string) => void warned.push(text) },
    };
    const second = createOracleService({ ...log.ports(), observability });
    await second.handle({ shard, records: stream.slice(0, 1) }, ample);
    await first.handle({ shard, records: stream.slice(1, 2) }, ample);
    expect(await second.handle({ shard, records: stream }, ample)).toMatchObject({ taken: 1 });
    expect(warned).toEqual([]);
    log.faults.set(log.calls, { kind: "before", error: new StoreError("throttled", "slow down") });
    await second.handle({ shard, records: [record(4, [request(21, "q")])] }, ample);
    expect(warned).toHaveLength(1);
  });

  test("an oracle far behind is rebuilt", async () => {
    const log = new MemoryLog(startTimestamp);
    log.saysWhatIsTaken = false;
    const [first, second] = await twoWarm(log);
    const blocks = limits.oracleCatchUpPagesMax * log.pageBlocksMax + 1;
    const records = Array.from({ length: blocks + 1 }, (_, n) =>
      record(n + 2, [request(n + 20, "a")]),
    );
    for (const one of records.slice(0, blocks)) {
      await first.handle({ shard, records: [one] }, ample);
    }
    const report = await second.handle({ shard, records }, ample);
    expect(report).toMatchObject({ taken: 1, rebuilds: 1, blocks: 1 });
    expect(log.decoded()).toHaveLength(blocks + 2);
  });

  test("an oracle whose next blocks have expired is rebuilt", async () => {
    const log = new MemoryLog(startTimestamp);
    log.saysWhatIsTaken = false;
    const [first, second] = await twoWarm(log);
    for (const one of stream.slice(1)) await first.handle({ shard, records: [one] }, ample);
    const last = record(9, [request(9, "q")]);
    log.faults.set(log.calls, {
      kind: "meanwhile",
      run: () => {
        log.faults.set(log.calls, {
          kind: "meanwhile",
          run: () => Promise.resolve(void log.blocks.splice(0, 2)),
        });
        return Promise.resolve();
      },
    });
    const report = await second.handle({ shard, records: [...stream, last] }, ample);
    expect(report).toMatchObject({ taken: 1, rebuilds: 1, blocks: 1 });
    expect(log.decoded().map(({ position }) => position)).toEqual([3, 4]);
  });

  test("I9: an invocation that ends before it knows leaves the next one to look", async () => {
    const log = new MemoryLog(startTimestamp);
    const [first, second] = await twoWarm(log);
    await first.handle({ shard, records: stream.slice(1, 2) }, ample);
    const put = log.calls;
    const short = { remainingMs: () => (log.calls > put ? 0 : 60_000) };
    const unfinished = second.handle({ shard, records: stream }, short);
    await expect(unfinished).rejects.toMatchObject({ reason: "deadline" });
    const report = await second.handle({ shard, records: stream }, ample);
    expect(report).toMatchObject({ taken: 0, rebuilds: 0, blocks: 1 });
    expect(kindsOf(log)).toEqual(expectedKinds);
  });

  test("gives up when others go on before every put; the next delivery finishes", async () => {
    const log = new MemoryLog(startTimestamp);
    const [first, second] = await twoWarm(log);
    let others = 100;
    const goOn = (): void => {
      const call = log.calls;
      for (const later of [call, call + 2]) {
        log.faults.set(later, {
          kind: "meanwhile",
          run: async () => {
            log.faults.clear();
            others += 1;
            await first.handle({ shard, records: [record(others, [request(others, "o")])] }, ample);
            goOn();
          },
        });
      }
    };
    goOn();
    const records = [record(1_000, [request(1_000, "a")])];
    const failure = second.handle({ shard, records }, ample);
    await expect(failure).rejects.toMatchObject({ reason: "contention" });
    log.faults.clear();
    const report = await second.handle({ shard, records }, ample);
    expect(report).toMatchObject({ blocks: 1, rebuilds: 0 });
  });
});
