/** The oracle service's ports in memory, with a fault at any call. */
import { systemDigest } from "../../aws/system-digest.ts";
import { StoreError } from "../../core/errors.ts";
import { KeyHasher } from "../../core/key-hash.ts";
import type { StoredBlock } from "../../core/ports.ts";
import type {
  LogBlock,
  LogPosition,
  TableDescription,
  Timestamp,
  TransactionId,
  Watermark,
} from "../../core/types.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import type { OracleServiceOptions } from "../../functions/oracle/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { sampleHashSecret, sampleHashes, sampleRandom } from "../../testing/sample-hashes.ts";

/** What becomes of a call: `before` and `after` tell where it fails, with what. */
export type Fault =
  | { readonly kind: "before" | "after"; readonly error: Error }
  /** Another instance does something between this one's decision to call and the call. */
  | { readonly kind: "meanwhile"; readonly run: () => Promise<void> };

export const controlTable: TableDescription = {
  name: "tidemark-test-control",
  partitionKey: { name: "pk", type: "S" },
  sortKey: { name: "sk", type: "S" },
  history: false,
  access: "transactional",
};

export class MemoryLog {
  readonly blocks: StoredBlock[] = [];
  readonly spilled = new Map<TransactionId, readonly Uint8Array[]>();
  readonly sleeps: number[] = [];
  watermark: Watermark | undefined;
  /** The registry, and how often it was read. */
  tables: readonly TableDescription[] = [
    {
      name: "accounts",
      partitionKey: { name: "pk", type: "S" },
      history: false,
      access: "transactional",
    },
  ];
  registryReads = 0;
  nowMs = 0;
  /** Calls so far, of all methods. */
  calls = 0;
  readonly faults = new Map<number, Fault>();
  /** Bound on the blocks of a page, as DynamoDB's 1 MB is. */
  pageBlocksMax = 3;
  /** Ids whose payloads were asked for, in that order. */
  readonly spillReads: TransactionId[] = [];
  readsAtOnce = 0;
  readsAtOnceMax = 0;
  /** A refused put brings the block that stands there: DynamoDB does so, dynalite does not. */
  saysWhatIsTaken = true;

  constructor(start: Timestamp) {
    this.watermark = { position: 0 as LogPosition, timestamp: start, cursor: undefined };
  }

  ports(): OracleServiceOptions {
    const log: OracleServiceOptions["log"] = {
      append: (_shard, block) =>
        this.#call(() => {
          const taken = this.blocks.find(({ position }) => position === block.position);
          if (taken !== undefined) return { taken: this.saysWhatIsTaken ? taken : undefined };
          this.blocks.push(block);
          return "appended";
        }),
      readBackward: (_shard, { from, blocksMax }) =>
        this.#call(() =>
          this.blocks
            .filter(({ position }) => from === undefined || position <= from)
            .toSorted((left, right) => right.position - left.position)
            .slice(0, Math.min(blocksMax, this.pageBlocksMax)),
        ),
      readAfter: (_shard, after) =>
        this.#call(() => {
          const newer = this.blocks
            .filter(({ position }) => position > after)
            .toSorted((left, right) => left.position - right.position);
          const blocks = newer.slice(0, this.pageBlocksMax);
          return { blocks, complete: blocks.length === newer.length };
        }),
      readAt: (_shard, at) => this.#call(() => this.blocks.find(({ position }) => position === at)),
      readSpilled: async (name, chunks) => {
        const id = name as TransactionId;
        this.spillReads.push(id);
        this.readsAtOnce += 1;
        this.readsAtOnceMax = Math.max(this.readsAtOnceMax, this.readsAtOnce);
        try {
          return await this.#call(() => {
            const found = this.spilled.get(id);
            return found?.length === chunks ? found : undefined;
          });
        } finally {
          this.readsAtOnce -= 1;
        }
      },
    };
    return {
      log,
      control: {
        idempotencyTable: controlTable,
        readWatermark: () => this.#call(() => this.watermark),
        tables: () => {
          this.registryReads += 1;
          return Promise.resolve(this.tables);
        },
        shardMap: () => Promise.resolve(undefined),
        shardNumbers: () => Promise.resolve([]),
        keyHasher: () => Promise.resolve(new KeyHasher(sampleHashSecret)),
      },
      clock: {
        nowMs: () => this.nowMs,
        monotonicMs: () => this.nowMs,
        sleep: (durationMs) => {
          this.sleeps.push(durationMs);
          return Promise.resolve();
        },
      },
      random: sampleRandom,
      digest: systemDigest,
      observability: silentObservability,
    };
  }

  decoded(): readonly LogBlock[] {
    return this.blocks.map(({ bytes, position }) => decodeLogBlock(bytes, position, sampleHashes));
  }

  async #call<Result>(effect: () => Result): Promise<Result> {
    const fault = this.faults.get(this.calls++);
    await Promise.resolve();
    if (fault?.kind === "before") throw fault.error;
    if (fault?.kind === "meanwhile") await fault.run();
    const result = effect();
    if (fault?.kind === "after") throw fault.error;
    return result;
  }
}

export function storeFault(fault: StoreError["fault"]): StoreError {
  return new StoreError(fault, `scripted ${fault}`);
}
