/** Outcomes of ids that only blocks decide: a deployment of tables alone (docs/adr/0013). */
import { describe, expect, test } from "vitest";
import { CommitUnknownError, StoreError } from "../../../core/errors.ts";
import type { Appended, ClientPorts } from "../../../core/ports.ts";
import type { TransactionId } from "../../../core/types.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type {
  BodyTransaction,
  ClientEngine,
  EngineEvent,
  TransactOptions,
} from "../../../engine/types.ts";
import { transactionIdFor } from "../../../schemas/transaction-id.ts";
import { systemDigest } from "../../../aws/system-digest.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { decodeBlock } from "../../../engine/log/stored-block.ts";
import { counters, countersTable } from "../increments.ts";

type Append = NonNullable<ClientPorts["log"]["append"]>;

/** Names, by which they differ in their randomness. */
let processes = 0;

/** An engine of a process of its own, whose puts into the log may be changed. */
function engineOn(
  cloud: TestCloud,
  change: (append: Append) => Append = (append) => append,
): {
  readonly engine: ClientEngine;
  readonly crash: () => void;
  readonly sent: readonly TransactionId[];
} {
  processes += 1;
  const process = cloud.world.startProcess(`app-${processes.toString()}`, { exact: true });
  const ports = cloud.deployment.clientPortsOf(process);
  const { append } = ports.log;
  if (append === undefined) throw new Error("no way to append");
  const log = { ...ports.log, append: change(append.bind(ports.log)) };
  const sent: TransactionId[] = [];
  const onEvent = (event: EngineEvent): void => {
    if (event.kind === "sent") sent.push(event.transactionId);
  };
  const engine = createClientEngine({ ...ports, log }, { commit: "express", onEvent });
  return {
    engine,
    sent,
    crash: () => {
      process.crash();
    },
  };
}

/** Whose first put is on its way, signed, until it is let go; meanwhile nobody hears of it. */
function slowPut(cloud: TestCloud): {
  readonly change: (append: Append) => Append;
  readonly arrive: () => Promise<Appended>;
} {
  const calm = cloud.deployment.portsOf(cloud.world.startProcess("network", { exact: true }), {
    calm: true,
  });
  let arrive: (() => Promise<Appended>) | undefined;
  return {
    change: () => (shard, block) => {
      arrive ??= () => calm.log.append(shard, block);
      return new Promise(() => undefined);
    },
    arrive: () => {
      if (arrive === undefined) throw new Error("nothing was put");
      return arrive();
    },
  };
}

const codec = { encode: () => ({ NULL: true }) as const, decode: () => undefined };

function put(engine: ClientEngine, n: number, options: TransactOptions = {}): Promise<unknown> {
  const body = (tx: BodyTransaction): Promise<undefined> => {
    tx.put("counters", { id: { S: "a" }, n: { N: n.toString() } });
    return Promise.resolve(undefined);
  };
  return engine.transact(options, body, codec);
}

async function unknownId(committed: Promise<unknown>): Promise<TransactionId> {
  const error = await committed.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof CommitUnknownError)) throw new Error("it was known", { cause: error });
  return error.transactionId;
}

/** What each block of the log decides. */
async function decisions(cloud: TestCloud): Promise<readonly string[]> {
  const { deployment, world } = cloud;
  const { log } = deployment.portsOf(world.startProcess("reader", { exact: true }), { calm: true });
  const { blocks } = await log.readAfter(deployment.shard, 0 as never);
  return blocks.map((stored) =>
    decodeBlock(stored, deployment.hashes)
      .verdicts.map((verdict) => (verdict.kind === "aborted" ? verdict.reason.kind : verdict.kind))
      .join(),
  );
}

/** Another process is told that it is aborted, and the dead one's put finds its place taken. */
async function expectSettled(
  cloud: TestCloud,
  id: TransactionId,
  arrive: () => Promise<unknown>,
): Promise<void> {
  expect(await engineOn(cloud).engine.outcome(id)).toEqual({ kind: "aborted" });
  await cloud.clock.sleep(5 * 60_000);
  expect(await arrive()).toMatchObject({ taken: {} });
  expect(await decisions(cloud)).toEqual(["probed"]);
}

const deadline = { deadlineMs: 2_000 };

describe("without a stream", () => {
  const create = (): Promise<TestCloud> =>
    createTestCloud({ tables: [countersTable], tablesOnly: true });

  test("an id that nothing was sent under is aborted by a block, once", async () => {
    const cloud = await create();
    await cloud.run(async () => {
      const { engine } = engineOn(cloud);
      await put(engine, 1);
      const proof = new Uint8Array(9).fill(3);
      const id = transactionIdFor(0 as never, proof, systemDigest);
      expect(await engine.outcome(id)).toEqual({ kind: "aborted" });
      expect(await engineOn(cloud).engine.outcome(id)).toEqual({ kind: "aborted" });
      expect(await decisions(cloud)).toEqual(["committed", "probed"]);
    });
  });

  test("of a client that died with its put on the way another one settles it", async () => {
    const cloud = await create();
    await cloud.run(async () => {
      const { change, arrive } = slowPut(cloud);
      const { engine, crash } = engineOn(cloud, change);
      const id = await unknownId(put(engine, 1, deadline));
      crash();
      await expectSettled(cloud, id, arrive);
    });
    await cloud.settled();
    expect(cloud.rows(counters)).toEqual([]);
  });

  test.each(["own", "another's"])(
    "a put that came before is found by %s question",
    async (whose) => {
      const cloud = await create();
      await cloud.run(async () => {
        const { change, arrive } = slowPut(cloud);
        const slow = engineOn(cloud, change);
        const id = await unknownId(put(slow.engine, 1, deadline));
        expect(await arrive()).toBe("appended");
        const asker = whose === "own" ? slow.engine : engineOn(cloud).engine;
        expect(await asker.outcome(id)).toMatchObject({ kind: "committed" });
        expect(await decisions(cloud)).toEqual(["committed"]);
      });
      await cloud.settled();
      expect(cloud.rows(counters)).toEqual([{ id: "a", n: 1 }]);
    },
  );

  test("a put that comes between the question's look and its block is found", async () => {
    const cloud = await create();
    await cloud.run(async () => {
      const { change, arrive } = slowPut(cloud);
      const id = await unknownId(put(engineOn(cloud, change).engine, 1, deadline));
      const asker = engineOn(cloud, (append) => async (...block) => {
        await arrive();
        return append(...block);
      });
      expect(await asker.engine.outcome(id)).toMatchObject({ kind: "committed" });
      expect(await decisions(cloud)).toEqual(["committed"]);
    });
  });

  test("who repeats a key while a put is on its way has one of both done", async () => {
    const cloud = await create();
    const key = { idempotencyKey: "once" };
    await cloud.run(async () => {
      const { change, arrive } = slowPut(cloud);
      const id = await unknownId(put(engineOn(cloud, change).engine, 1, { ...deadline, ...key }));
      await put(engineOn(cloud).engine, 2, key);
      expect(await arrive()).toMatchObject({ taken: {} });
      expect(await engineOn(cloud).engine.outcome(id)).toEqual({ kind: "aborted" });
    });
    await cloud.settled();
    expect(cloud.rows(counters)).toEqual([{ id: "a", n: 2 }]);
  });

  test("who may not append is told the policy, and may as soon as it is given", async () => {
    const cloud = await create();
    await cloud.run(async () => {
      const { change } = slowPut(cloud);
      const id = await unknownId(put(engineOn(cloud, change).engine, 1, deadline));
      let isAllowed = false;
      const { engine } = engineOn(cloud, (append) => (...block) => {
        if (isAllowed) return append(...block);
        return Promise.reject(new StoreError("rejected", "AccessDeniedException"));
      });
      await expect(engine.outcome(id)).rejects.toMatchObject({
        code: "invalid-request",
        message: expect.stringContaining("policy express") as string,
      });
      isAllowed = true;
      await cloud.clock.sleep(2_000);
      expect(await engine.outcome(id)).toEqual({ kind: "aborted" });
    });
  });
});

test("beside a stream, the put of a client that died finds its position taken", async () => {
  const cloud = await createTestCloud({ tables: [countersTable] });
  await cloud.run(async () => {
    const { change, arrive } = slowPut(cloud);
    const { engine, crash, sent } = engineOn(cloud, change);
    const committing = put(engine, 1, deadline);
    await cloud.clock.sleep(100);
    crash();
    void committing;
    const [id, ...others] = sent;
    if (id === undefined || others.length > 0) throw new Error("it was to be sent once");
    await expectSettled(cloud, id, arrive);
  });
  await cloud.settled();
  expect(cloud.rows(counters)).toEqual([]);
});
