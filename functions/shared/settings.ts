/**
 * How each function runs, wherever it runs: one table. Terraform reads it as
 * infra/terraform/functions.json, which `npm run function-settings` writes; the embedded stack, the
 * test cloud with its simulator, the benchmarks and the tests read it here. A place that must
 * differ names the setting and the reason (`Change`), and test/tidy finds a setting that is stated
 * elsewhere.
 */

export const functionRoles = [
  "oracle",
  "replay",
  "reaper",
  "housekeeping",
  "splitter",
  "api",
  "auditor",
  "provision",
] as const;
export type FunctionRole = (typeof functionRoles)[number];

/** How a mapping hands the stream to a function. Units and names are Lambda's. */
export type MappingSettings = {
  readonly batchSize: number;
  /** How long a batch that is not full waits for more. */
  readonly windowSeconds: number;
  /** `ReportBatchItemFailures`. */
  readonly partialBatchResponse: boolean;
  readonly enhancedFanOut: boolean;
  readonly startingPosition: "TRIM_HORIZON";
  readonly parallelizationFactor: 1;
  readonly bisect: false;
  /** -1: for ever. */
  readonly retriesMax: -1;
  readonly recordAgeSecondsMax: -1;
};

/** How the streams of a user's tables come to a function. */
export type TableMappingSettings = {
  readonly batchSize: number;
  readonly windowSeconds: number;
  readonly startingPosition: "LATEST";
  readonly bisect: true;
  readonly retriesMax: number;
};

export type ScheduleSettings = {
  readonly everyMinutes: number;
  readonly retriesMax: number;
  readonly eventAgeSecondsMax: number;
};

export type FunctionSettings = {
  readonly description: string;
  /**
   * Which deployments have it: those with a stream, those of tables alone, or both; those with
   * tables whose writers are audited; or those that are to split busy shards by themselves.
   */
  readonly deployedWith: "stream" | "tables" | "either" | "audit" | "split";
  /** Processor time grows with it: 1,769 MB are one core. */
  readonly memoryMb: number;
  /** An invocation that takes longer is ended. */
  readonly timeoutSeconds: number;
  readonly mapping?: MappingSettings;
  readonly tableMapping?: TableMappingSettings;
  readonly schedule?: ScheduleSettings;
};

/**
 * A shard's records go through one invocation after the other, and none is ever given up: a record
 * that is dropped is a commit that its client waits for, or a payload that is never installed. A
 * mapping that is made anew meets old records again, which the log's cursor skips; `LATEST` would
 * skip records for good. Halves of a failed batch would bring records back that are done.
 */
const everyRecordInOrder = {
  startingPosition: "TRIM_HORIZON",
  parallelizationFactor: 1,
  bisect: false,
  retriesMax: -1,
  recordAgeSecondsMax: -1,
} as const;

/** What a scheduled run leaves undone, the next one finds: repeating a failed one only costs. */
const notRepeated = { retriesMax: 0, eventAgeSecondsMax: 60 } as const;

export const functionSettings = {
  oracle: {
    description: "Certifies commits, one batch at a time per shard",
    deployedWith: "stream",
    // A whole core: certification is one thread's work, and every commit waits for it.
    memoryMb: 1769,
    // Room for a rebuild, which reads the certification window's part of the log.
    timeoutSeconds: 60,
    mapping: {
      // A record may hold thousands of requests; more records only lengthen what a failed batch
      // does again.
      batchSize: 500,
      // Every millisecond of window is latency of every commit.
      windowSeconds: 0,
      // Never fails on content, so a batch needs no answer in part.
      partialBatchResponse: false,
      enhancedFanOut: true,
      ...everyRecordInOrder,
    },
  },
  replay: {
    description: "Installs what clients did not, and moves the watermark on",
    deployedWith: "stream",
    memoryMb: 1024,
    timeoutSeconds: 120,
    mapping: {
      batchSize: 1000,
      // Within it clients say what they have installed, and replay need not look.
      windowSeconds: 1,
      // Returns the records that the log does not cover yet.
      partialBatchResponse: true,
      // No caller waits for it, so it shares the stream's allowance.
      enhancedFanOut: false,
      ...everyRecordInOrder,
    },
    // For what is left when the stream falls silent.
    schedule: { everyMinutes: 1, ...notRepeated },
  },
  reaper: {
    description: "Removes tombstones that no late install can miss any more",
    deployedWith: "stream",
    memoryMb: 512,
    timeoutSeconds: 300,
    // Tombstones cost a little in queries and stay for a quarter of an hour anyway.
    schedule: { everyMinutes: 10, ...notRepeated },
  },
  housekeeping: {
    description: "Replay and reaper in one, for a deployment of tables alone",
    deployedWith: "tables",
    memoryMb: 1024,
    // One run after the other: the reaper gets what replay leaves of it.
    timeoutSeconds: 300,
    // Nothing wakes it earlier. Meanwhile clients install their own commits, and readers those of
    // clients that died.
    schedule: { everyMinutes: 1, ...notRepeated },
  },
  splitter: {
    description: "Splits a shard that has been too busy for a while",
    deployedWith: "split",
    memoryMb: 512,
    // It measures 64 busy shards in some ten seconds, and a split is a few puts.
    timeoutSeconds: 120,
    // A load that comes and goes within minutes is not worth a split.
    schedule: { everyMinutes: 1, ...notRepeated },
  },
  api: {
    description: "REST in front of the same engine as the SDK",
    deployedWith: "either",
    memoryMb: 1024,
    // Longer than the service takes to answer, shorter than an HTTP API waits (30 s).
    timeoutSeconds: 29,
  },
  auditor: {
    description: "Tells who writes mixed tables and knows of no transactions",
    deployedWith: "audit",
    memoryMb: 256,
    timeoutSeconds: 60,
    tableMapping: {
      // A batch is at most 6 MB, which is a second's work.
      batchSize: 1000,
      // Nobody waits for it: few invocations cost less than many.
      windowSeconds: 30,
      // It is about who writes now.
      startingPosition: "LATEST",
      // It is better to know nothing of a write than to hold up what comes after it.
      bisect: true,
      retriesMax: 2,
    },
  },
  provision: {
    description: "Fills the control table; invoked by Terraform",
    deployedWith: "either",
    memoryMb: 512,
    // It waits until replay, which comes once a minute, has drained a stream that is closed.
    timeoutSeconds: 300,
  },
} as const satisfies Readonly<Record<FunctionRole, FunctionSettings>>;

/** The functions of a deployment with a stream, or of one of tables alone. */
export function rolesOf(kind: "stream" | "tables"): readonly FunctionRole[] {
  return functionRoles.filter((role) => {
    const { deployedWith }: FunctionSettings = functionSettings[role];
    return deployedWith === kind || deployedWith === "either";
  });
}

/** What a place that is not AWS has otherwise, and the reason. */
export type Change<Value> = { readonly value: Value; readonly because: string };

/** By the setting's name. */
export type Changes<Settings> = { readonly [Name in keyof Settings]?: Change<Settings[Name]> };

/** A mapping's settings as local mappings take them. */
export type BatchSettings = {
  readonly batchSize: number;
  readonly windowMs: number;
  readonly partialBatchResponse: boolean;
};

export function batchSettings(
  role: "oracle" | "replay",
  changes: Changes<BatchSettings> = {},
): BatchSettings {
  const { batchSize, windowSeconds, partialBatchResponse } = functionSettings[role].mapping;
  return changed({ batchSize, windowMs: windowSeconds * 1_000, partialBatchResponse }, changes);
}

/** When an invocation is ended. */
export function timeLimitMs(role: FunctionRole): number {
  return functionSettings[role].timeoutSeconds * 1_000;
}

export function scheduleMs(
  role: "replay" | "reaper" | "housekeeping" | "splitter",
  changes: Changes<{ readonly everyMs: number }> = {},
): number {
  const everyMs = functionSettings[role].schedule.everyMinutes * 60_000;
  return changed({ everyMs }, changes).everyMs;
}

/** As EventBridge spells it. */
export function scheduleExpression({ everyMinutes }: ScheduleSettings): string {
  return `rate(${everyMinutes.toString()} ${everyMinutes === 1 ? "minute" : "minutes"})`;
}

function changed<Settings extends object>(
  settings: Settings,
  changes: Changes<Settings>,
): Settings {
  const values = Object.entries<{ readonly value: unknown } | undefined>(changes).flatMap(
    ([name, change]) => (change === undefined ? [] : [[name, change.value]]),
  );
  return { ...settings, ...(Object.fromEntries(values) as Partial<Settings>) };
}
