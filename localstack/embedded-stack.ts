/**
 * The embedded stack: a supervisor (the calling process) and its children, one for the stores and
 * one per function. Any child may be killed at any moment: it is started again and goes on from the
 * checkpoint that the supervisor keeps. If the supervisor is killed, the children leave with it.
 */
import { deploymentNames } from "../aws/names.ts";
import type { TableDescription } from "../core/types.ts";
import { DataFolder, unwritable, type Checkpoints } from "./data-folder.ts";
import type { Provision, Provisioned } from "./provision-stack.ts";
import type {
  FromProcess,
  HostSettings,
  StackEndpoints,
  StoresSettings,
} from "./process-messages.ts";
import type { StackScripts } from "./stack-bundle.ts";
import { StackError } from "./stack-error.ts";
import * as limits from "../core/limits.ts";
import { splitPolicyOf, type SplitPolicy } from "../core/split-policy.ts";
import { splitVariable } from "../functions/splitter/policy.ts";
import {
  splittingFunctions,
  stackFunctions,
  tablesOnlyFunctions,
  type FunctionDefinition,
} from "./stack-functions.ts";
import { createStackLog, type LogLevel, type StackLog } from "./stack-log.ts";
import { SupervisedProcess, type ProcessState } from "./supervised-process.ts";
import type { TableSetup } from "./table-setup.ts";
import { functionStopMsMax, storesStopMsMax } from "./limits.ts";

export type StackPorts = {
  readonly dynamodb: number;
  readonly kinesis: number;
  readonly api: number;
};

export type EmbeddedStackOptions = {
  /** 0, the default, takes any free port. */
  readonly ports?: Partial<StackPorts>;
  /** The loopback port of a DynamoDB that runs already, to be used in place of one of its own. */
  readonly dynamodbAt?: number | undefined;
  /** Keep data here over restarts; default: in memory. */
  readonly dataFolder?: string | undefined;
  /** Default `"local"`. */
  readonly deployment?: string;
  /** Default `"us-east-1"`. */
  readonly region?: string;
  /** Default `"silent"`; has no say over a `log` that is given. */
  readonly logLevel?: LogLevel;
  readonly log?: StackLog;
  /** Start a process that died again; default true. */
  readonly restartChildren?: boolean;
  /** Create, register and fill the sample tables; default true. */
  readonly sampleTables?: boolean;
  /** Created unless they are there, and registered. One named like a sample table replaces it. */
  readonly tables?: readonly TableSetup[];
  /** No stream and no oracle: clients append to the log themselves; default false. */
  readonly tablesOnly?: boolean;
  /** 1 to 64, each with a log of its own; default: as the data folder has them, and 1 anew. */
  readonly shards?: number | undefined;
  /** Split a shard that is busy: when, or as is usual here. Default: none is split by itself. */
  readonly autoSplit?: boolean | Partial<SplitPolicy> | undefined;
  /** Default: all of a deployment. */
  readonly functions?: readonly FunctionDefinition[];
  readonly provision?: Provision;
  /**
   * The programs of its processes; default: built at the start, from the sources as they are then.
   */
  readonly scripts?: StackScripts | undefined;
};

export type EmbeddedStack = {
  /** The one address that an SDK or a browser needs. */
  readonly endpoint: string;
  readonly endpoints: StackEndpoints;
  readonly deployment: string;
  readonly region: string;
  /** There is no stream, and nothing listens where Kinesis would. */
  readonly tablesOnly: boolean;
  /** How many logs with an oracle each. */
  readonly shards: number;
  /** Names of those that are registered, kept ones too. */
  readonly tables: readonly string[];
  /** The same, as they were when it started. */
  readonly registered: readonly TableDescription[];
  /** Names and process ids of the children that live right now. */
  readonly processes: Readonly<Record<string, number>>;
  /** How each of the processes stands, those that are about to be started again too. */
  readonly states: Readonly<Record<string, ProcessState>>;
  /** kill -9; resolves when the process is gone. @throws RangeError for an unknown name. */
  kill(name: string): Promise<void>;
  /**
   * kill -STOP and -CONT: the process stands still in the midst of what it does, until `resume`.
   * @returns false if it is not there just now. @throws RangeError for an unknown name.
   */
  freeze(name: string): boolean;
  resume(name: string): void;
  /** The stores refuse so many of a hundred calls from now on, as for want of throughput. */
  throttle(percent: number): void;
  /** Resolves when the named process, or every process, is ready. */
  waitReady(name?: string): Promise<void>;
  /** REST first, so that requests get their answers; then the other functions; the stores last. */
  stop(): Promise<void>;
  /** Ends every process at once, by kill -9. */
  abandon(): Promise<void>;
  /** Resolves if the stack cannot go on by itself, with the reason. Never rejects. */
  readonly lost: Promise<StackError>;
};

/** @throws StackError with one line that says what to change. Nothing is left running then. */
export async function startEmbeddedStack(
  options: EmbeddedStackOptions = {},
): Promise<EmbeddedStack> {
  try {
    return await startStack(options);
  } catch (error) {
    const { closeStackStream, StreamInUse } = await import("./provision-stack.ts");
    if (!(error instanceof StreamInUse)) throw error;
    // Its data has a stream, which goes as it does on AWS: closed first, and drained by replay.
    const functions = stackFunctions.filter(({ name }) => name !== "api");
    const last = { tablesOnly: false, functions, tables: [], sampleTables: false };
    const draining = await startStack({ ...options, ...last });
    try {
      await closeStackStream(draining);
    } finally {
      await draining.stop();
    }
    return await startStack(options);
  }
}

async function startStack(options: EmbeddedStackOptions): Promise<EmbeddedStack> {
  const stack = new Stack(options);
  try {
    await stack.start();
  } catch (error) {
    await stack.abandon();
    throw error;
  }
  return stack;
}

class Stack implements EmbeddedStack {
  readonly deployment: string;
  readonly region: string;
  readonly tablesOnly: boolean;
  readonly lost: Promise<StackError>;
  readonly #options: EmbeddedStackOptions;
  readonly #functions: readonly FunctionDefinition[];
  readonly #splitPolicy: SplitPolicy | undefined;
  readonly #log: StackLog;
  readonly #ownLog: StackLog;
  readonly #stream: string;
  /** The ports asked for; once they are known, those taken, so that a restart keeps them. */
  #ports: StackPorts;
  #dataFolder: DataFolder | undefined;
  /** What keeps the stack from starting, if the data folder does. */
  #unwritable: StackError | undefined;
  #checkpoints: Checkpoints = {};
  #saveTimer: NodeJS.Timeout | undefined;
  #stores: SupervisedProcess | undefined;
  readonly #hosts: SupervisedProcess[] = [];
  /** Those of them that a mapping of the stream drives. */
  readonly #readers: SupervisedProcess[] = [];
  /** Everything is provisioned: functions may be invoked. */
  #complete = false;
  #provisioned: Provisioned = { registered: [], shards: 0 };
  #lose: (error: StackError) => void = () => undefined;
  #stopped: Promise<void> | undefined;
  #throttlePercent = 0;

  constructor(options: EmbeddedStackOptions) {
    this.#options = options;
    this.deployment = options.deployment ?? "local";
    this.region = options.region ?? "us-east-1";
    this.#stream = deploymentNames(this.deployment).stream;
    this.tablesOnly = options.tablesOnly ?? false;
    this.#splitPolicy = splitPolicyHere(options.autoSplit);
    this.#functions = options.functions ?? [
      ...(this.tablesOnly ? tablesOnlyFunctions : stackFunctions),
      ...(this.#splitPolicy === undefined ? [] : splittingFunctions),
    ];
    this.#ports = { dynamodb: options.dynamodbAt ?? 0, kinesis: 0, api: 0, ...options.ports };
    this.#log =
      options.log ??
      createStackLog({
        level: options.logLevel ?? "silent",
        format: "text",
        output: process.stderr,
      });
    this.#ownLog = this.#log.child({ process: "supervisor" });
    this.lost = new Promise((resolve) => (this.#lose = resolve));
  }

  get endpoint(): string {
    return urlOf(this.#ports.api);
  }

  get endpoints(): StackEndpoints {
    return { dynamodb: urlOf(this.#ports.dynamodb), kinesis: urlOf(this.#ports.kinesis) };
  }

  get tables(): readonly string[] {
    return this.registered.map(({ name }) => name);
  }

  get registered(): readonly TableDescription[] {
    return this.#provisioned.registered;
  }

  get shards(): number {
    return this.#provisioned.shards;
  }

  get processes(): Readonly<Record<string, number>> {
    const alive = this.#all().flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid]]));
    return Object.fromEntries(alive) as Readonly<Record<string, number>>;
  }

  get states(): Readonly<Record<string, ProcessState>> {
    return Object.fromEntries(this.#all().map(({ name, state }) => [name, state]));
  }

  async start(): Promise<void> {
    const { dataFolder } = this.#options;
    if (dataFolder !== undefined) {
      this.#dataFolder = DataFolder.open(dataFolder);
      this.#checkpoints = this.#dataFolder.readCheckpoints();
    }
    const provision =
      this.#options.provision ?? (await import("./provision-stack.ts")).provisionStack;
    const scripts =
      this.#options.scripts ??
      // Not loaded where the programs are built already: there is no bundler then.
      (await (
        await import("./stack-bundle.ts")
      ).bundleStack(new Map(this.#functions.map(({ name, handlerFile }) => [name, handlerFile]))));
    this.#stores = this.#storesProcess(scripts);
    await this.#stores.start();
    this.#dataFolder?.storesMade();
    for (const definition of this.#functions) {
      const host = this.#hostProcess(definition, scripts);
      this.#hosts.push(host);
      if (definition.sources.some(({ kind }) => kind === "stream")) this.#readers.push(host);
    }
    const { deployment, region, endpoints } = this;
    const sampleTables = this.#options.sampleTables ?? true;
    const tables = this.#options.tables ?? [];
    const target = {
      ...{ deployment, region, endpoints, sampleTables, tables },
      stream: !this.tablesOnly,
      shards: this.#options.shards,
      dataFolder: this.#dataFolder,
    };
    // Settled, not raced: after a failure nothing may go on behind the caller's back.
    const [provisioned, ...started] = await Promise.allSettled([
      provision(target),
      ...this.#hosts.map((host) => host.start()),
    ]);
    const failed = [...started, provisioned].find((result) => result.status === "rejected");
    if (failed !== undefined) throw this.#unwritable ?? failed.reason;
    if (provisioned.status === "fulfilled") this.#provisioned = provisioned.value;
    this.#complete = true;
    for (const host of this.#hosts) host.send({ kind: "go" });
    this.#ownLog.info(this.processes, "running");
  }

  async kill(name: string): Promise<void> {
    await this.#named(name).kill();
  }

  freeze(name: string): boolean {
    return this.#named(name).freeze();
  }

  resume(name: string): void {
    this.#named(name).resume();
  }

  throttle(percent: number): void {
    this.#throttlePercent = percent;
    this.#stores?.send({ kind: "throttle", percent });
  }

  async waitReady(name?: string): Promise<void> {
    const awaited = name === undefined ? this.#all() : [this.#named(name)];
    await Promise.all(awaited.map((process) => process.whenReady()));
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async abandon(): Promise<void> {
    await Promise.all(this.#all().map((process) => process.stop(0)));
    this.#saveCheckpoints();
  }

  async #stop(): Promise<void> {
    const serving = this.#hosts.filter((host) => host.name === "api");
    const others = this.#hosts.filter((host) => host.name !== "api");
    for (const group of [serving, others]) {
      await Promise.all(group.map((host) => host.stop(functionStopMsMax)));
    }
    await this.#stores?.stop(storesStopMsMax);
    this.#saveCheckpoints();
    this.#ownLog.info("stopped");
  }

  #all(): readonly SupervisedProcess[] {
    return this.#stores === undefined ? this.#hosts : [this.#stores, ...this.#hosts];
  }

  #named(name: string): SupervisedProcess {
    const found = this.#all().find((process) => process.name === name);
    if (found !== undefined) return found;
    const names = this.#all().map((process) => process.name);
    throw new RangeError(`there is no process "${name}", only ${names.join(", ")}`);
  }

  #storesProcess(scripts: StackScripts): SupervisedProcess {
    const settings = (): StoresSettings => ({
      kind: "stores",
      services: [
        ...(this.#options.dynamodbAt === undefined ? (["dynamodb"] as const) : []),
        ...(this.tablesOnly ? [] : (["kinesis"] as const)),
      ],
      dynamodbPort: this.#ports.dynamodb,
      kinesisPort: this.#ports.kinesis,
      dataFolder: this.#dataFolder?.path,
    });
    const inMemory = this.#dataFolder === undefined;
    return new SupervisedProcess({
      name: "stores",
      script: scripts.stores,
      parameters: [],
      environment: this.#environment(),
      settings,
      // Without a folder the data died with the process: going on would lose commits silently.
      restart: !inMemory && (this.#options.restartChildren ?? true),
      log: this.#log.child({ process: "stores" }),
      onMessage: (message) => {
        if (message.kind === "cannot-write") this.#noteUnwritable(message.because);
        if (message.kind !== "stream-written") return;
        for (const host of this.#readers) host.send({ kind: "wake" });
      },
      onReady: ({ dynamodb, kinesis }) => {
        this.#ports = {
          ...this.#ports,
          dynamodb: dynamodb ?? this.#ports.dynamodb,
          kinesis: kinesis ?? this.#ports.kinesis,
        };
        if (this.#throttlePercent > 0) this.throttle(this.#throttlePercent);
      },
      onLost: (error) => {
        const remedy = inMemory
          ? "; the data was in memory and is gone (--data <folder> would keep it)"
          : "";
        this.#lose(new StackError("other", `${error.message}${remedy}`, { cause: error }));
      },
    });
  }

  #noteUnwritable(because: string): void {
    const path = this.#dataFolder?.path ?? "";
    this.#unwritable = new StackError("data-folder", unwritable(path, because, "start again"));
    this.#ownLog.error(unwritable(path, because, "the stack goes on by itself"));
  }

  #hostProcess(definition: FunctionDefinition, scripts: StackScripts): SupervisedProcess {
    const { name, sources, invocationMsMax } = definition;
    const owner = `${name}/${this.#stream}`;
    const settings = (): HostSettings => ({
      kind: "host",
      function: name,
      deployment: this.deployment,
      region: this.region,
      stream: this.#stream,
      endpoints: this.endpoints,
      sources,
      invocationMsMax,
      httpPort: this.#ports.api,
      checkpoints: this.#checkpoints[owner] ?? {},
    });
    const host: SupervisedProcess = new SupervisedProcess({
      name,
      script: scripts.host,
      parameters: [name, scripts.handlers.get(name) ?? ""],
      environment: this.#environment(),
      settings,
      restart: this.#options.restartChildren ?? true,
      log: this.#log.child({ process: name }),
      onMessage: (message) => {
        this.#keepCheckpoint(owner, message);
      },
      onReady: ({ http }) => {
        if (http !== undefined) this.#ports = { ...this.#ports, api: http };
        if (this.#complete) host.send({ kind: "go" });
      },
      onLost: (error) => {
        this.#ownLog.error(error.message);
      },
    });
    return host;
  }

  #environment(): NodeJS.ProcessEnv {
    const level = this.#log.level;
    return {
      ...process.env,
      AWS_REGION: this.region,
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      AWS_SESSION_TOKEN: "",
      TIDEMARK_DEPLOYMENT: this.deployment,
      TIDEMARK_ENDPOINT_DYNAMODB: this.endpoints.dynamodb,
      TIDEMARK_ENDPOINT_KINESIS: this.endpoints.kinesis,
      TIDEMARK_LOG_LEVEL: level,
      ...splitVariables(this.#splitPolicy),
      POWERTOOLS_METRICS_DISABLED: level === "debug" ? "false" : "true",
      // It would be said by every process at every start; the README says which Node to use.
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
      // Of the process that starts the stack, and of no meaning to its children.
      NODE_OPTIONS: "",
    };
  }

  #keepCheckpoint(owner: string, message: FromProcess): void {
    if (message.kind !== "checkpoint") return;
    (this.#checkpoints[owner] ??= {})[message.shardId] = message.checkpoint;
    // A checkpoint that is lost costs a redelivery, so the file may lag behind.
    if (this.#dataFolder === undefined || this.#saveTimer !== undefined) return;
    this.#saveTimer = setTimeout(() => {
      this.#saveCheckpoints();
    }, 500);
    this.#saveTimer.unref();
  }

  #saveCheckpoints(): void {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = undefined;
    try {
      this.#dataFolder?.saveCheckpoints(this.#checkpoints);
    } catch (error) {
      const because = error instanceof Error ? error.message : String(error);
      this.#ownLog.error(`checkpoints could not be saved: ${because}`);
    }
  }
}

function splitPolicyHere(wanted: EmbeddedStackOptions["autoSplit"]): SplitPolicy | undefined {
  if (wanted === undefined || wanted === false) return undefined;
  return splitPolicyOf({
    entriesPerSecond: limits.localSplitEntriesPerSecond,
    windowSeconds: limits.localSplitWindowSeconds,
    coolDownSeconds: limits.localSplitCoolDownSeconds,
    ...(wanted === true ? {} : wanted),
  });
}

function splitVariables(policy: SplitPolicy | undefined): NodeJS.ProcessEnv {
  const settings = Object.entries(policy ?? {});
  return Object.fromEntries(settings.map(([name, value]) => [splitVariable(name), String(value)]));
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port.toString()}`;
}
