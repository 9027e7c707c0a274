/**
 * What the supervisor and the processes of the embedded stack say to each other over the IPC
 * channel. Both ends come from one checkout and are started together, so the shapes need no
 * version.
 */
import type { Checkpoint } from "./shard-consumer.ts";

/** Where the stores listen. */
export type StackEndpoints = { readonly dynamodb: string; readonly kinesis: string };

/** What the process `stores` is told. A port of 0 means any free one. */
export type StoresSettings = {
  readonly kind: "stores";
  /** What it serves: both, unless a DynamoDB of someone else's is used. */
  readonly services: readonly ("dynamodb" | "kinesis")[];
  readonly dynamodbPort: number;
  readonly kinesisPort: number;
  /** Keep data here; undefined: in memory. */
  readonly dataFolder: string | undefined;
};

/** What wakes a function. */
export type EventSource =
  | {
      readonly kind: "stream";
      readonly batchSize: number;
      readonly windowMs: number;
      readonly partialBatchResponse: boolean;
    }
  | { readonly kind: "schedule"; readonly everyMs: number }
  | { readonly kind: "http" };

/** What a function's host is told when it starts. */
export type HostSettings = {
  readonly kind: "host";
  readonly function: string;
  readonly deployment: string;
  readonly region: string;
  readonly stream: string;
  readonly endpoints: StackEndpoints;
  readonly sources: readonly EventSource[];
  /** An invocation that takes longer counts as failed. */
  readonly invocationMsMax: number;
  /** Used by the source `http` only; 0 means any free one. */
  readonly httpPort: number;
  /** By shard; absent: the oldest record. */
  readonly checkpoints: Readonly<Record<string, Checkpoint>>;
};

export type ToProcess =
  | { readonly kind: "settings"; readonly settings: StoresSettings | HostSettings }
  /** Everything that the function needs is there: deliver events. */
  | { readonly kind: "go" }
  /** The stream was written. */
  | { readonly kind: "wake" }
  /** Refuse so many of a hundred calls, as for want of throughput. */
  | { readonly kind: "throttle"; readonly percent: number }
  /** Finish what is under way, then exit. */
  | { readonly kind: "stop" };

export type FromProcess =
  | { readonly kind: "ready"; readonly ports: Readonly<Record<string, number>> }
  /** It cannot start, for a reason that a user can understand and mend. */
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly message: string }
  | { readonly kind: "checkpoint"; readonly shardId: string; readonly checkpoint: Checkpoint }
  | { readonly kind: "stream-written" }
  /** The data folder is full, or may not be written: writes are refused until it begins anew. */
  | { readonly kind: "cannot-write"; readonly because: string };

export type FailureReason = "port-busy" | "port-forbidden" | "data-folder" | "config" | "other";
