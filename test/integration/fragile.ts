/**
 * Client processes that crash, and what to look at afterwards. A crash is a port that hangs for
 * ever: nothing more comes from that process, and nobody closes it.
 */
import type { CommitLog, CommitStream, ItemStore, Ports } from "../../core/ports.ts";
import type {
  Item,
  LogPosition,
  TableDescription,
  TransactionId,
  Verdict,
} from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import type { Engine, EngineTransaction } from "../../engine/types.ts";
import { recorded } from "../harness/history-export.ts";
import type { LocalStores } from "../harness/local-stores.ts";
import { numberOf } from "./support.ts";

export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

export type Broken = {
  readonly stream?: (real: CommitStream) => Partial<CommitStream>;
  readonly log?: (real: CommitLog) => Partial<CommitLog>;
  readonly items?: (real: ItemStore) => Partial<ItemStore>;
};

/** A client process that is going to crash; `ids` are those it sent requests for. */
export function fragileEngine(
  stores: LocalStores,
  broken: Broken,
): { readonly engine: Engine; readonly ids: TransactionId[] } {
  const ports: Ports = stores.openPorts();
  const { stream, log, items } = ports;
  const ids: TransactionId[] = [];
  return {
    ids,
    engine: recorded(
      stores,
      createEngine(
        {
          ...ports,
          stream: { ...stream, ...broken.stream?.(stream) },
          log: { ...log, ...broken.log?.(log) },
          items: { ...items, ...broken.items?.(items) },
        },
        {
          commit: "stream",
          onEvent: (event) => {
            if (event.kind === "sent") ids.push(event.transactionId);
          },
        },
      ),
    ),
  };
}

/** Begins the transaction, and does not wait for a process that will not answer. */
export function abandon(by: Engine, body: (tx: EngineTransaction) => void): void {
  by.transact({}, (tx) => {
    body(tx);
    return Promise.resolve();
  }).catch(() => undefined);
}

export async function until(
  condition: () => Promise<boolean> | boolean,
  { patienceMs = 20_000 }: { readonly patienceMs?: number } = {},
): Promise<void> {
  const lookMs = 20;
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += lookMs) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
  throw new Error("the condition did not come to hold");
}

export async function verdictsOn(
  stores: LocalStores,
  id: TransactionId,
): Promise<Verdict["kind"][]> {
  const { log } = stores.ports;
  const verdicts: Verdict["kind"][] = [];
  let after = 0 as LogPosition;
  for (;;) {
    const page = await log.readAfter(stores.shard, after);
    for (const stored of page.blocks) {
      after = stored.position;
      for (const verdict of decodeBlock(stored, stores.hashes).verdicts) {
        if (verdict.id === id) verdicts.push(verdict.kind);
      }
    }
    if (page.complete) return verdicts;
  }
}

export async function storedN(
  stores: LocalStores,
  of: TableDescription,
  key: Item,
): Promise<number> {
  const { item } = await stores.ports.items.get(of, key);
  return numberOf(item);
}

export function idOf(ids: readonly TransactionId[]): TransactionId {
  const [id] = ids;
  if (id === undefined) throw new Error("nothing was sent");
  return id;
}
