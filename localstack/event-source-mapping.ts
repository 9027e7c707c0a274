/**
 * A local event source mapping: what stands between a Kinesis stream and a function on AWS. One
 * consumer per shard, from the oldest record on; a shard begins when its parents have ended (a
 * child read first would break the order of a key that moved), and no shard waits for another.
 */
import { ShardConsumer, type MappingDependencies, type MappingOptions } from "./shard-consumer.ts";

export type EventSourceMapping = {
  /** Tells that the stream was written, so that an idle mapping reads at once. */
  wake(): void;
  /** Lets batches under way finish; nothing is delivered any more once this has resolved. */
  stop(): Promise<void>;
  /** Rejects if the mapping itself fails; resolves when it has been stopped. */
  readonly finished: Promise<void>;
};

/** How often the stream is asked for shards that a split or merge made. */
const shardRefreshMs = 1_000;

export function startEventSourceMapping(
  options: MappingOptions,
  dependencies: MappingDependencies,
): EventSourceMapping {
  const shards = new ShardSupervisor(options, dependencies);
  const finished = shards.run();
  return {
    wake() {
      shards.wake();
    },
    async stop() {
      shards.stop();
      await finished;
    },
    finished,
  };
}

class ShardSupervisor {
  readonly #options: MappingOptions;
  readonly #dependencies: MappingDependencies;
  readonly #consumers = new Map<string, ShardConsumer>();
  readonly #runs = new Map<string, Promise<void>>();
  #stopping = false;
  #failure: { readonly cause: unknown } | undefined;
  /** Cuts the pause before the next look at the stream's shards short. */
  #pause = new AbortController();

  constructor(options: MappingOptions, dependencies: MappingDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  wake(): void {
    for (const consumer of this.#consumers.values()) consumer.wake();
  }

  stop(): void {
    this.#stopping = true;
    this.#pause.abort();
    for (const consumer of this.#consumers.values()) consumer.stop();
  }

  async run(): Promise<void> {
    let failures = 0;
    while (!this.#stopping) {
      // Made before the shards are listed, so that one that ends meanwhile is not overlooked.
      this.#pause = new AbortController();
      let pauseMs = shardRefreshMs;
      try {
        const ready = await readyShards(this.#dependencies);
        if (!this.#hasStopped()) for (const shardId of ready) this.#start(shardId);
        failures = 0;
      } catch (cause) {
        failures += 1;
        pauseMs = Math.min(this.#options.retryMsMax, this.#options.retryMsMin * 2 ** failures);
        this.#dependencies.report({ kind: "read-failed", shardId: undefined, failures, cause });
      }
      if (this.#hasStopped()) break;
      await this.#dependencies.clock.sleep(pauseMs, this.#pause.signal).catch(() => undefined);
    }
    await Promise.all(this.#runs.values());
    if (this.#failure !== undefined) throw this.#failure.cause;
  }

  /** `stop` may have been called during any await. */
  #hasStopped(): boolean {
    return this.#stopping;
  }

  #start(shardId: string): void {
    if (this.#runs.has(shardId)) return;
    const consumer = new ShardConsumer(shardId, this.#options, this.#dependencies);
    this.#consumers.set(shardId, consumer);
    const run = consumer
      .run()
      .catch((cause: unknown) => {
        // A consumer lives through failing reads and functions; this is a defect: stop everything.
        this.#failure ??= { cause };
        this.stop();
      })
      .finally(() => {
        this.#consumers.delete(shardId);
        this.#pause.abort();
      });
    this.#runs.set(shardId, run);
  }
}

/** Shards that are not finished and whose parents are, or are no longer kept by the stream. */
async function readyShards(dependencies: MappingDependencies): Promise<readonly string[]> {
  const shards = await dependencies.reader.shards();
  const unfinished = new Set(
    shards
      .map((shard) => shard.shardId)
      .filter((shardId) => dependencies.loadCheckpoint(shardId)?.kind !== "shard-end"),
  );
  return shards
    .filter((shard) => unfinished.has(shard.shardId))
    .filter((shard) => !shard.parents.some((parent) => unfinished.has(parent)))
    .map((shard) => shard.shardId);
}
