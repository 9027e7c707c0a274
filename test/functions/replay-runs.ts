/** Replay called by hand, beside clients that leave their installs to it. */
import type { Ports, StreamRecord } from "../../core/ports.ts";
import type { Item, TableDescription, Timestamp, TransactionId } from "../../core/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import type { Engine } from "../../engine/types.ts";
import { createReplayService, type ReplayResult } from "../../functions/replay/service.ts";
import type { Observability } from "../../functions/shared/observability.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { recordsAt, type LocalStores } from "../harness/local-stores.ts";
import { fragileEngine, never } from "../integration/fragile.ts";

export type ReplayRun = {
  readonly records?: readonly StreamRecord[];
  readonly ports?: Partial<Ports>;
  readonly remainingMs?: () => number;
  readonly signal?: AbortSignal;
  readonly patienceMs?: number;
  readonly ownInstallMs?: number;
  readonly observability?: Observability;
};

export function runReplay(stores: LocalStores, run: ReplayRun): Promise<ReplayResult> {
  const ports = { ...stores.openPorts(), ...run.ports };
  const { patienceMs = 0, ownInstallMs = 0, remainingMs = (): number => 30_000 } = run;
  const { observability = silentObservability, signal } = run;
  return createReplayService(ports, observability, { patienceMs, ownInstallMs }).handle(
    { shard: stores.shard, records: run.records ?? [] },
    { remainingMs, ...(signal === undefined ? {} : { signal }) },
  );
}

/** A client that never installs. */
export function certifyingEngine(stores: LocalStores): Engine {
  return fragileEngine(stores, { items: () => ({ install: () => never() }) }).engine;
}

/** Commits and does not wait for installs. */
export async function certify(
  client: Engine,
  work: {
    readonly of: TableDescription;
    readonly writes: readonly Item[];
    readonly deletes?: readonly Item[];
  },
): Promise<{ id: TransactionId; at: Timestamp }> {
  const { of, writes, deletes = [] } = work;
  const { receipt } = await client.transact({ ack: "certified" }, (tx) => {
    for (const item of writes) tx.put(of.name, item);
    for (const item of deletes) tx.delete(of.name, item);
    return Promise.resolve();
  });
  const { transactionId: id, commitTimestamp: at } = receipt;
  if (id === undefined || at === undefined) throw new Error("nothing was committed");
  return { id, at };
}

/** The record at the log's end and those behind it, once there are as many. */
export async function recordsFrom(
  { ports, shard, hashes }: LocalStores,
  atLeast: number,
): Promise<readonly StreamRecord[]> {
  const [newest] = await ports.log.readBackward(shard, { blocksMax: 1 });
  const cursor = newest === undefined ? undefined : decodeBlock(newest, hashes).cursor;
  if (cursor === undefined) throw new Error("the log has no cursor");
  for (let i = 0; i < 500; i += 1) {
    const from = cursor.sequenceNumber;
    const records = await recordsAt({ ports }, { shard, from, recordsMax: 100 });
    if (records.length >= atLeast) return records;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("no record came");
}
