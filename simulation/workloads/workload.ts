/**
 * What a workload is: tables, a beginning, steps that clients take, and what must hold at the end.
 */
import type { Isolation } from "../../core/types.ts";
import type { CalmStage } from "../calm-stage.ts";
import type { Operator } from "../operator.ts";
import type { AnyBase } from "../../sdk/base-definition.ts";
import type { Client, Snapshot, Transaction } from "../../sdk/index.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { NativeItems } from "../native/native-items.ts";
import type { NativeKind } from "../native/native-write.ts";
import type { StoredChange } from "../judges/store-judge.ts";
import type { KeyUniverse } from "../../testing/history/recording-options.ts";
import type { TestTable } from "../../testing/deployment-options.ts";

export type WorkloadSettings = {
  readonly keys: number;
  /** Whether its tables keep superseded versions. */
  readonly history: boolean;
  readonly isolation: Isolation | "mixed";
};

export type StepContext = {
  readonly client: Client;
  readonly random: SeededRandom;
  /** The isolation for this step: the plan's, or one drawn for a mixed plan. */
  readonly isolation: Isolation;
  /** A name that no other step of the run has. */
  readonly unique: string;
  /** Pause in virtual time, inside a body. */
  readonly pause: (durationMs: number) => Promise<void>;
  /** The client's machine sleeps, its timers with it: the process does not notice. */
  readonly suspend: (durationMs: number) => Promise<void>;
  /** The client's wall clock. */
  readonly nowMs: () => number;
  /** The REST service of the deployment. */
  readonly rest: RestCall;
  readonly operator: Operator;
};

export type RestRequest = {
  readonly path: string;
  readonly body: unknown;
  readonly idempotencyKey?: string;
};

export type RestAnswer = {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
};

/** Undefined: no answer came, and nobody knows what has happened. */
export type RestCall = (request: RestRequest) => Promise<RestAnswer | undefined>;

/** One step of a program beside the clients, that knows its items by plain calls. */
export type NativeContext = Pick<StepContext, "random" | "unique" | "pause"> & {
  readonly items: NativeItems;
};

export type NativePart = {
  /** Whose promises the workload can keep beside these; each process is one of them. */
  readonly kinds: readonly NativeKind[];
  /** A violated expectation throws a `WorkloadFinding`. */
  step(context: NativeContext): Promise<void>;
  /**
   * Tables whose unaware writers may lose writes, as the documents say: the history is no judge
   * there, the workload is.
   */
  readonly looseTables?: readonly string[];
};

/** Where a handler of BASE transactions runs. */
export type BaseProcess = Pick<StepContext, "random" | "pause">;

export type BasePart = {
  /** What a runner is given: for each process anew. */
  handlers(process: BaseProcess): readonly AnyBase[];
};

export type Workload = {
  readonly tables: readonly TestTable[];
  /** In which plain writers do what they must not: what happens to their rows is not judged. */
  readonly plainTables?: readonly TestTable[];
  /** Of the deployment, as the run begins. Default: as short as it may be. */
  readonly historyRetentionMs?: number;
  /** Fills the tables, before any fault strikes. */
  setUp(client: Client): Promise<void>;
  /**
   * One transaction, or one that is retried under an idempotency key. Its errors of the expected
   * kinds (conflict, unknown outcome, store unavailable) may go out; a violated expectation throws
   * a `WorkloadFinding`.
   */
  step(context: StepContext): Promise<void>;
  /**
   * Reads everything in one snapshot and says what is wrong: money made or lost, a seat sold twice.
   */
  judge(client: Client): Promise<readonly string[]>;
  /**
   * Directed steps, once all is calm and judged: for what faults by chance hardly ever bring about.
   */
  afterwards?(stage: CalmStage): Promise<void>;
  /** Programs that know its mixed tables by plain calls. Default: there are none. */
  readonly native?: NativePart;
  /** BASE transactions that its clients begin. Default: there are none. */
  readonly base?: BasePart;
  /** Told of every change of its tables, in their order. */
  observe?(change: StoredChange): void;
  /**
   * For the recorder: tables whose rows are lists that grow, and all keys that a query may ever
   * find.
   */
  readonly appendTables?: readonly string[];
  readonly universe?: KeyUniverse;
  /**
   * Anomalies that the isolation level allows, as often as the run showed them: write skew under
   * snapshot isolation.
   */
  observations?(): Readonly<Record<string, number>>;
  /** What is to happen now and then, or the workload proves nothing of it: how often it did. */
  sought?(): Readonly<Record<string, number>>;
};

export type WorkloadFactory = (settings: WorkloadSettings) => Workload;

export { WorkloadFinding } from "./workload-finding.ts";
export type { Client, Snapshot, Transaction };
