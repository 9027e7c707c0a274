/** A log in which clients have put blocks of their own, between and behind those of the oracle. */
import { describe, expect, test } from "vitest";
import { CorruptDataError } from "../../core/errors.ts";
import type { LogBlock, LogPosition, MakerNumber, Timestamp } from "../../core/types.ts";
import { createOracleService, type OracleService } from "../../functions/oracle/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { id, secondMicros, startTimestamp } from "../core/oracle-harness.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";
import { MemoryLog } from "./memory-log.ts";
import { keyHashOf, kindsOf, payloadOf, record, request, shard } from "./oracle-batches.ts";

const ample = { remainingMs: () => 60_000 };
const first = record(1, [request(1, "a")]);
const second = record(2, [request(2, "b", { checks: [keyHashOf("c")] }), request(3, "d")]);

/** A client's commit of the key behind all others. */
function append(log: MemoryLog, key: string, change: Partial<LogBlock> = {}): void {
  const last = log.decoded().at(-1);
  if (last === undefined) throw new Error("the log has a block");
  const timestamp = (change.throughTimestamp ?? last.throughTimestamp + 1) as Timestamp;
  const position = (last.position + 1) as LogPosition;
  const hash = keyHashOf(key);
  const table = keyHashOf("a table");
  const block: LogBlock = {
    position,
    previousTimestamp: last.throughTimestamp,
    throughTimestamp: timestamp,
    cursor: last.cursor,
    arrivalMs: 0,
    rejectedRecords: 0,
    maker: { number: 0xab as MakerNumber, installed: [] },
    verdicts: [
      {
        kind: "committed",
        id: id(1_000 + position),
        timestamp,
        writes: [{ table, partition: hash, key: hash, sortKey: undefined }],
        payload: { kind: "inline", bytes: encodePayload(payloadOf(key)) },
      },
    ],
    ...change,
  };
  log.blocks.push({ position, bytes: encodeLogBlock(block) });
}

describe("clients' blocks", () => {
  test.each([
    ["warm", true],
    ["cold", false],
  ])("I4: a %s oracle folds them, and goes on in the stream", async (_, isWarm) => {
    const log = new MemoryLog(startTimestamp);
    const service = createOracleService(log.ports());
    await service.handle({ shard, records: [first] }, ample);
    append(log, "c");
    const next = isWarm ? service : createOracleService(log.ports());
    await next.handle({ shard, records: [first, second] }, ample);
    expect(kindsOf(log)).toEqual(["committed", "committed", "conflict", "committed"]);
  });

  test("I9: a window of nothing else leaves a cold oracle its place in the stream", async () => {
    const log = new MemoryLog(startTimestamp);
    await createOracleService(log.ports()).handle({ shard, records: [first] }, ample);
    const last = log.decoded().at(-1)?.throughTimestamp ?? 0;
    for (let i = 1; i <= 3; i++) {
      append(log, "c", { throughTimestamp: (last + i * 20 * secondMicros) as Timestamp });
    }
    const report = await createOracleService(log.ports()).handle(
      { shard, records: [first] },
      ample,
    );
    expect(report).toMatchObject({ blocks: 0, duplicates: 0 });
  });

  test.each([
    ["warm", true],
    ["cold", false],
  ])("I9: one that moves the cursor stops a %s oracle, until it is mended", async (_, isWarm) => {
    const log = new MemoryLog(startTimestamp);
    const told: unknown[] = [];
    const observability = {
      ...silentObservability,
      log: { ...silentObservability.log, error: (...line: unknown[]) => told.push(line) },
    };
    const open = (): OracleService => createOracleService({ ...log.ports(), observability });
    const service = open();
    await service.handle({ shard, records: [first] }, ample);
    const sequenceNumber = second.sequenceNumber;
    append(log, "c", { cursor: { sequenceNumber, requestsDone: "all" } });
    const next = isWarm ? service : open();
    const deliver = (): Promise<unknown> => next.handle({ shard, records: [first, second] }, ample);
    await expect(deliver()).rejects.toThrow(CorruptDataError);
    await expect(deliver()).rejects.toThrow("block 2 of the log, made by client 000000ab, moves");
    expect(log.blocks).toHaveLength(2);
    expect(told).toHaveLength(2);
    expect(told[0]).toMatchObject(["a block of the log stops the shard", { shard }]);
    log.blocks.pop();
    append(log, "c");
    await deliver();
    expect(kindsOf(log)).toEqual(["committed", "committed", "conflict", "committed"]);
  });
});
