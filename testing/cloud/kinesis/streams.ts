/** All streams, the time, and what every operation shares: finding a stream and a shard. */
import { shardMissing, streamMissing, violation } from "./failures.ts";
import type { Shard, Stream } from "./stream.ts";

export class Streams {
  readonly byName = new Map<string, Stream>();
  readonly #nowMs: () => number;
  readonly #arrivalMs: () => number;

  constructor(options: { readonly nowMs: () => number; readonly arrivalMs: () => number }) {
    this.#nowMs = options.nowMs;
    this.#arrivalMs = options.arrivalMs;
  }

  get nowMs(): number {
    return this.#nowMs();
  }

  /** What the service writes on the next record as its time of arrival. */
  arrivalMs(): number {
    return this.#arrivalMs();
  }

  /** @throws ServiceError when there is no such stream. */
  find(input: StreamReference): Stream {
    const name = requireStreamName(input);
    const stream = this.byName.get(name);
    if (stream === undefined) throw streamMissing(name);
    return stream;
  }
}

export type StreamReference = {
  readonly StreamName?: string | undefined;
  readonly StreamARN?: string | undefined;
};

/** @throws ServiceError for a name that no stream can have. */
export function requireStreamName({ StreamName, StreamARN }: StreamReference): string {
  const name = StreamName ?? StreamARN?.slice(StreamARN.lastIndexOf("/") + 1);
  if (name === undefined) throw violation("streamName", "Member must not be null");
  if (name.length < 1 || name.length > 128) {
    throw violation("streamName", "Member must have length between 1 and 128");
  }
  if (!/^[a-zA-Z0-9_.-]+$/.test(name)) {
    throw violation(
      "streamName",
      "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
    );
  }
  return name;
}

/**
 * Takes the number for the id, as the service does.
 * @throws ServiceError when the stream has no
 * such shard.
 */
export function requireShard(stream: Stream, id: string): Shard {
  const digits = /^(?:[^-]*-)?(\d{1,12})$/.exec(id)?.[1];
  const shard = digits === undefined ? undefined : stream.shards[Number(digits)];
  if (shard === undefined) throw shardMissing(id, stream.name);
  return shard;
}

/** @throws ServiceError for a text that is no shard's id. */
export function requireShardId(parameter: string, id: string | undefined): string {
  if (id === undefined) throw violation(parameter, "Member must not be null");
  if (id.length < 1 || id.length > 128 || !/^[a-zA-Z0-9_.-]+$/.test(id)) {
    throw violation(parameter, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+");
  }
  return id;
}
