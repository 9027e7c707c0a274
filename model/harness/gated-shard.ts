/**
 * One shard in memory, for replaying the model's steps on the real services. The calls at which the
 * model lets others in between (an oracle's put, an install by replay) wait until they are
 * released.
 */
import { ShardMap } from "../../core/shard-map.ts";
import type {
  Appended,
  CommitLog,
  ControlStore,
  InstallRequest,
  Ports,
  StoredBlock,
  StoredItem,
  StreamRecord,
} from "../../core/ports.ts";
import { attribute } from "../../core/attributes.ts";
import { retentionDefault } from "../../core/history.ts";
import { KeyHasher } from "../../core/key-hash.ts";
import type {
  Item,
  LogPosition,
  SequenceNumber,
  ShardId,
  ShardNumber,
  TableDescription,
  Timestamp,
  Version,
  Watermark,
} from "../../core/types.ts";
import { sampleHashSecret } from "../../testing/sample-hashes.ts";

export const shardId = "shardId-000000000000" as ShardId;
export const modelTable: TableDescription = {
  name: "items",
  partitionKey: { name: "k", type: "S" },
  history: false,
  access: "transactional",
};

/** A call on its way: what it carries, and how to let it through. */
export type Held<Call> = { readonly call: Call; readonly release: () => void };

export class GatedShard {
  readonly blocks: StoredBlock[] = [];
  readonly records: StreamRecord[] = [];
  readonly items = new Map<string, StoredItem>();
  watermark: Watermark = {
    position: 0 as LogPosition,
    timestamp: 0 as Timestamp,
    cursor: undefined,
  };

  /**
   * Stores a record; its arrival says nothing, so that timestamps count decisions as the model's
   * do.
   */
  arrive(data: Uint8Array): void {
    const sequenceNumber = (this.records.length + 1).toString() as SequenceNumber;
    this.records.push({ sequenceNumber, arrivalMs: 0, data });
  }

  item(key: string): StoredItem {
    return this.items.get(key) ?? { item: undefined, version: 0 as Version, tombstone: false };
  }

  /** DynamoDB's conditional put, as aws/dynamodb-item-store.ts words it. */
  install(request: InstallRequest): "installed" | "superseded" {
    const key = keyOf(request.key);
    const { version } = this.item(key);
    const passes =
      request.expects === "below" ? version < request.version : version === request.expects;
    if (!passes) return "superseded";
    const { item } = request;
    this.items.set(key, { item, version: request.version, tombstone: item === undefined });
    return "installed";
  }

  append(block: StoredBlock): Appended {
    const taken = this.blocks.find(({ position }) => position === block.position);
    if (taken !== undefined) return { taken };
    this.blocks.push(block);
    return "appended";
  }

  isTaken(position: LogPosition): boolean {
    return this.blocks.some((block) => block.position === position);
  }

  /** Ports whose installs pass `gate`. Every call answers in the same turn of the event loop. */
  ports(gate: (request: InstallRequest) => Promise<void> = () => Promise.resolve()): Ports {
    const refuse = (): never => {
      throw new Error("the model does not go there");
    };
    const log: CommitLog = {
      append: refuse,
      readAfter: (_, after) => Promise.resolve(this.after(after)),
      readBackward: (_, { from, blocksMax }) => Promise.resolve(this.backward(from, blocksMax)),
      readAt: (_, position) =>
        Promise.resolve(this.blocks.find((block) => block.position === position)),
      spill: refuse,
      readSpilled: refuse,
      continues: refuse,
    };
    return {
      clock: { nowMs: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() },
      random: { next: () => 0, bytes: (length) => new Uint8Array(length) },
      digest: () => new Uint8Array(32),
      log,
      stream: {
        put: refuse,
        read: (_, from, { recordsMax }) => {
          const at = this.records.findIndex(({ sequenceNumber }) => sequenceNumber === from);
          return Promise.resolve(
            at < 0
              ? { kind: "unseen", complete: true }
              : { kind: "found", records: this.records.slice(at, at + recordsMax) },
          );
        },
      },
      items: {
        get: (_, key) => Promise.resolve(this.item(keyOf(key))),
        batchGet: refuse,
        versions: (keys) => Promise.resolve(keys.map(({ key }) => this.item(keyOf(key)).version)),
        query: refuse,
        scan: refuse,
        install: async (request) => {
          await gate(request);
          return this.install(request);
        },
        removeTombstone: ({ key, version }) => {
          const stored = this.item(keyOf(key));
          if (!stored.tombstone || stored.version !== version) return Promise.resolve("kept");
          this.items.delete(keyOf(key));
          return Promise.resolve("removed");
        },
      },
      mixed: {
        read: refuse,
        readAll: refuse,
        query: refuse,
        scan: refuse,
        fence: refuse,
        install: refuse,
        cleanUp: refuse,
        stamp: refuse,
        writeLocally: refuse,
      },
      versions: { save: refuse, find: refuse },
      control: this.control(),
    };
  }

  after(position: LogPosition): { blocks: readonly StoredBlock[]; complete: boolean } {
    return { blocks: this.blocks.filter((block) => block.position > position), complete: true };
  }

  backward(from: LogPosition | undefined, blocksMax: number): readonly StoredBlock[] {
    return this.blocks
      .filter(({ position }) => from === undefined || position <= from)
      .toReversed()
      .slice(0, blocksMax);
  }

  control(): ControlStore {
    const nothing = (): Promise<void> => Promise.resolve();
    return {
      idempotencyTable: { ...modelTable, name: "control" },
      readWatermark: () => Promise.resolve(this.watermark),
      advanceWatermark: (_, watermark) => {
        const moves = watermark.position > this.watermark.position;
        if (moves) this.watermark = watermark;
        return Promise.resolve(moves);
      },
      shards: () => Promise.resolve([shardId]),
      shardMap: () =>
        Promise.resolve(new ShardMap([{ number: 0 as ShardNumber, id: shardId, from: 0 }])),
      shardNumbers: () => Promise.resolve([0 as ShardNumber]),
      enterFork: nothing,
      enterJoin: nothing,
      keyHasher: () => Promise.resolve(new KeyHasher(sampleHashSecret)),
      registry: () => Promise.resolve({ tables: [modelTable], retention: retentionDefault }),
      tables: () => Promise.resolve([modelTable]),
      registerTable: () => Promise.resolve(modelTable),
      retainHistory: nothing,
      secret: (_, make) => Promise.resolve(make()),
      houseTurn: () => Promise.resolve(undefined),
      putHouseTurn: () => Promise.resolve(true),
      queueFences: nothing,
      queuedFences: () => Promise.resolve([]),
      dropFences: nothing,
      queueTombstones: nothing,
      queuedTombstones: () => Promise.resolve([]),
      dropTombstones: nothing,
      watermarkSamples: () => Promise.resolve([]),
      saveWatermarkSamples: nothing,
      saveDeadLetter: () => Promise.reject(new Error("the model has no dead letters")),
    };
  }
}

export function keyOf(key: Item): string {
  const value = attribute(key, "k");
  if (value === undefined || !("S" in value)) throw new Error("an item of the model has a key k");
  return value.S;
}

/** Lets everything that can go on do so. The shard answers at once, so a few turns suffice. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
