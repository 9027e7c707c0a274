/**
 * What somebody can break who may append to the log, and what not. Each trial has a deployment of
 * its own, since most stop its shard. Without the right, the first call of each is denied.
 */
import { expect } from "vitest";
import { provisioningNumber } from "../../../core/block-order.ts";
import { streamEnd } from "../../../core/cursor.ts";
import { CommitUnknownError, CorruptDataError, SnapshotTooOldError } from "../../../core/errors.ts";
import type {
  CommittedVerdict,
  LogBlock,
  LogPosition,
  MakerNumber,
  SequenceNumber,
  ShardNumber,
  Timestamp,
} from "../../../core/types.ts";
import { systemDigest } from "../../../aws/system-digest.ts";
import { createEngine } from "../../../engine/engine.ts";
import { encodePayload } from "../../../schemas/payload.ts";
import { spillPayload } from "../../../schemas/spill.ts";
import { runReplay } from "../../functions/replay-runs.ts";
import { putOf, sealedAt } from "../../simulation/producer.ts";
import { storedN } from "../fragile.ts";
import { key, number, numberOf, putAll, readOne } from "../support.ts";
import { blockOf, follower, newestBlock, putBlock, removeBlock } from "./hostile-appender.ts";
import { admitted } from "./probes.ts";
import { actorAs } from "./roles.ts";
import { inItsOwnWorld, type Breakage } from "./trial.ts";
import type { World } from "./world.ts";

type Block = Parameters<typeof putBlock>[2];

/** Puts the block with the right to, and sees it denied without. */
async function append(world: World, block: Block): Promise<void> {
  const without = await world.as("policy read-write");
  await expect(putBlock(without, world.stores, block)).rejects.toMatchObject({
    name: "AccessDeniedException",
  });
  await putBlock(await world.as("an express client"), world.stores, block);
}

const n = (world: World, name: string): Promise<number> =>
  storedN(world.stores, world.plain, key(name));

const increment = (world: World, deadlineMs: number) =>
  world.honest.transact({ deadlineMs }, async (tx) => {
    const row = await tx.get(world.table, key("row"));
    tx.put(world.table, { ...key("row"), n: number(numberOf(row) + 1) });
  });

/**
 * Nobody reads, commits or installs over such a block, and all say where it stands; without it the
 * shard goes on.
 * @param make of a block that may stand there.
 */
async function standsUntilRemoved(
  world: World,
  make: (fitting: LogBlock) => Block,
  message: RegExp,
): Promise<void> {
  const { stores, plain } = world;
  const readWatermark = () => stores.ports.control.readWatermark(stores.shard);
  await runReplay(stores, {});
  const before = await readWatermark();
  const block = make(follower(await newestBlock(stores)));
  await append(world, block);
  const newcomer = createEngine(stores.openPorts());
  const refused = [
    increment(world, 2_000),
    readOne(newcomer, plain, key("row")),
    runReplay(stores, {}),
  ];
  for (const end of await Promise.allSettled(refused)) {
    const reason: unknown = end.status === "rejected" ? end.reason : undefined;
    expect(reason).toBeInstanceOf(CorruptDataError);
    expect(String(reason)).toMatch(message);
  }
  expect(await readWatermark()).toEqual(before);
  await removeBlock(stores, block.position);
  const { receipt } = await increment(world, 20_000);
  await runReplay(stores, {});
  expect((await readWatermark())?.timestamp).toBe(receipt.commitTimestamp);
  const read = await readOne(newcomer, plain, key("row"));
  expect(read).toEqual(await readOne(world.honest, plain, key("row")));
  await newcomer.close();
}

/** What a block says that commits an item to a table, whoever may write to it. */
async function commitTo(world: World, table: string): Promise<Block> {
  const { stores, honest, plain } = world;
  await putAll(honest, plain, [{ ...key("row"), n: number(1) }]);
  const before = await newestBlock(stores);
  const { id } = sealedAt(before.throughTimestamp);
  const named = { name: table, partitionKey: "pk", history: false };
  const payload = encodePayload(putOf(named, ["pk"], { ...key("row"), n: number(666) }));
  const { chunks, source } = spillPayload(payload, systemDigest);
  const actor = await actorAs("an express client", stores, []);
  await actor.ports.log.spill(id, chunks);
  await expect(actor.ports.items.get(plain, key("row"))).rejects.toThrow(/AccessDenied/);
  await actor.stop();
  const block = follower(before);
  const verdict: CommittedVerdict = {
    ...{ kind: "committed", id, timestamp: block.throughTimestamp, payload: source },
    writes: [stores.hashes.item(named, key("row"))],
  };
  return { ...block, verdicts: [verdict] };
}

const movedOn = ({ cursor, ...block }: LogBlock): LogBlock => {
  if (cursor === undefined) throw new Error("the scene: a block of the oracle");
  const sequenceNumber = (BigInt(cursor.sequenceNumber) + 10n ** 50n).toString() as SequenceNumber;
  return { ...block, cursor: { sequenceNumber, requestsDone: "all" } };
};

const yearMicros = 365 * 24 * 3_600 * 1_000_000;

export const expressTrials: Breakage = {
  can: {
    "commits that are not installed, by overwriting their blocks": inItsOwnWorld(async (world) => {
      const { stores } = world;
      const { id } = await world.commitAndDie("lost");
      const block = await blockOf(stores, id);
      const reason = { kind: "probed" } as const;
      const timestamp = block.throughTimestamp;
      await append(world, { ...block, verdicts: [{ kind: "aborted", id, timestamp, reason }] });
      await runReplay(stores, {});
      expect(await n(world, "lost")).toBe(0);
      const newcomer = createEngine(stores.openPorts());
      expect(await newcomer.outcome(id)).toMatchObject({ kind: "aborted" });
      await newcomer.close();
    }),
    "items of any registered table, whatever its own rights to it": inItsOwnWorld(async (world) => {
      await append(world, await commitTo(world, world.table));
      await runReplay(world.stores, {});
      expect(await n(world, "row")).toBe(666);
    }),
    "requests under way, by moving the cursor past them: nobody answers them": inItsOwnWorld(
      async (world) => {
        const { stores, honest, plain } = world;
        await putAll(honest, plain, [{ ...key("row"), n: number(1) }]);
        await append(world, movedOn(follower(await newestBlock(stores))));
        // Its client knows that it does not know; and nobody takes it for committed.
        await expect(increment(world, 2_000)).rejects.toThrow(CommitUnknownError);
        expect(await readOne(honest, plain, key("row"))).toMatchObject({ n: number(1) });
        await runReplay(stores, {});
        expect(await n(world, "row")).toBe(1);
      },
    ),
    "asOf and expiry, by a block dated ahead": inItsOwnWorld(async (world) => {
      const { stores, honest, plain } = world;
      await putAll(honest, plain, [{ ...key("row"), n: number(1) }]);
      const before = await newestBlock(stores);
      await append(world, follower(before, before.throughTimestamp + yearMicros));
      const { receipt } = await increment(world, 20_000);
      expect(receipt.commitTimestamp).toBeGreaterThan(before.throughTimestamp + yearMicros);
      expect(await readOne(honest, plain, key("row"))).toMatchObject({ n: number(2) });
      const asOf = (Date.now() * 1_000) as Timestamp;
      const now = honest.snapshot({ asOf }, (reader) => reader.get(plain.name, key("row")));
      await expect(now).rejects.toThrow(SnapshotTooOldError);
    }),
    "the way by the stream, by a block that closes or opens it": inItsOwnWorld(async (world) => {
      const { stores, honest, plain } = world;
      await putAll(honest, plain, [{ ...key("row"), n: number(1) }]);
      const block = follower(await newestBlock(stores));
      const maker = { number: provisioningNumber, installed: [] };
      const { previousTimestamp: throughTimestamp } = block;
      await append(world, { ...block, throughTimestamp, verdicts: [], maker, cursor: streamEnd });
      const { ports } = await world.as("policy read-write");
      const client = createEngine(ports);
      const refused = client.transact({ deadlineMs: 5_000 }, async (tx) => {
        await tx.get(plain.name, key("row"));
        tx.put(plain.name, { ...key("row"), n: number(2) });
      });
      await expect(refused).rejects.toThrow(/has no stream/);
      await client.close();
      expect(await n(world, "row")).toBe(1);
    }),
    "a shard's range, by a block that splits it": inItsOwnWorld(async (world) => {
      const { stores, honest, plain } = world;
      await putAll(honest, plain, [{ ...key("row"), n: number(1) }]);
      await runReplay(stores, {});
      const block = follower(await newestBlock(stores));
      const { id } = sealedAt(block.previousTimestamp);
      const timestamp = block.throughTimestamp;
      const decided = { kind: "aborted", id, timestamp, reason: { kind: "probed" } } as const;
      const maker = { number: provisioningNumber, installed: [] };
      const fork = { shard: 1 as ShardNumber, from: 1 };
      await append(world, { ...block, maker, fork, verdicts: [decided] });
      // All hashes but those of no upper half are another shard's, which nobody has made.
      const client = createEngine((await world.as("policy read-write")).ports);
      const read = client.snapshot({ deadlineMs: 3_000 }, (reader) =>
        reader.get(plain.name, key("row")),
      );
      await expect(read).rejects.toThrow(/shard-001 has no watermark/);
      await client.close();
      await expect(runReplay(stores, {})).rejects.toThrow(/nobody has prepared that/);
      await removeBlock(stores, block.position);
      expect(await readOne(honest, plain, key("row"))).toMatchObject({ n: number(1) });
    }),
    "a row's reads for some seconds, by a block with a payload that is damaged": inItsOwnWorld(
      async (world) => {
        const { stores, honest, plain } = world;
        await putAll(honest, plain, [{ ...key("row"), n: number(1) }]);
        await runReplay(stores, {});
        const block = follower(await newestBlock(stores));
        const { id } = sealedAt(block.previousTimestamp);
        const verdict: CommittedVerdict = {
          ...{ kind: "committed", id, timestamp: block.throughTimestamp },
          payload: { kind: "inline", bytes: Uint8Array.of(7) },
          writes: [stores.hashes.item({ name: plain.name, partitionKey: "pk" }, key("row"))],
        };
        const maker = { number: 77 as MakerNumber, installed: [] };
        await append(world, { ...block, maker, verdicts: [verdict] });
        const newcomer = createEngine(stores.openPorts());
        let isRead = false;
        const read = readOne(newcomer, plain, key("row")).finally(() => (isRead = true));
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        expect(isRead).toBe(false);
        await runReplay(stores, {});
        expect(await read).toMatchObject({ n: number(1) });
        await newcomer.close();
      },
    ),
    "the shard's progress, by a block that may not stand there": inItsOwnWorld(async (world) => {
      await putAll(world.honest, world.plain, [{ ...key("row"), n: number(0) }]);
      const bytes = new TextEncoder().encode("no block");
      await standsUntilRemoved(world, ({ position }) => ({ position, bytes }), /does not decode/);
      const leavingOneOut = (block: LogBlock): Block => ({
        ...block,
        position: (block.position + 1) as LogPosition,
      });
      await standsUntilRemoved(world, leavingOneOut, /I1: the log/);
      const ofEarlier = (block: LogBlock): Block => ({
        ...block,
        previousTimestamp: (block.previousTimestamp - 1) as Timestamp,
      });
      await standsUntilRemoved(world, ofEarlier, /I2: block \d+ does not continue/);
    }),
  },
  not: {
    "what is installed, by overwriting its block": inItsOwnWorld(async (world) => {
      const { stores, honest, plain } = world;
      await putAll(honest, plain, [{ ...key("row"), n: number(1) }]);
      const block = await newestBlock(stores);
      const id = block.verdicts[0]?.id ?? sealedAt(0).id;
      const reason = { kind: "probed" } as const;
      const timestamp = block.throughTimestamp;
      await append(world, { ...block, verdicts: [{ kind: "aborted", id, timestamp, reason }] });
      await runReplay(stores, {});
      const newcomer = createEngine(stores.openPorts());
      expect(await readOne(newcomer, plain, key("row"))).toMatchObject({ n: number(1) });
      await newcomer.close();
    }),
    "the log, by deleting from it": inItsOwnWorld(async (world) => {
      const rights = await world.may("an express client", "log");
      expect(rights).toEqual(["reads", "queries", "appends blocks", "spills payloads"]);
    }),
    "watermarks and the registry": inItsOwnWorld(async (world) => {
      const rights = await world.may("an express client", "control");
      expect(rights.filter((right) => /^(moves|updates|registers|deletes)/.test(right))).toEqual(
        [],
      );
    }),
    "tables that are not registered": inItsOwnWorld(async (world) => {
      const { stores, foreign } = world;
      const block = await commitTo(world, foreign);
      await append(world, block);
      const { watermark } = await runReplay(stores, {});
      // It was refused, and has stopped nobody.
      expect(watermark.position).toBe(block.position);
      expect(await storedN(stores, { ...world.plain, name: foreign }, key("row"))).toBe(0);
    }),
    "reads of tables that it has no right to": inItsOwnWorld(async (world) => {
      const actor = await actorAs("an express client", world.stores, []);
      expect(await admitted(actor, world, "your tables")).toEqual([]);
      await actor.stop();
    }),
  },
};
