/**
 * `tidemark start`, in a clone `npm start`: the embedded stack from the command line. The
 * announcement goes to standard output, the log to standard error. Ctrl-C stops in order; a second
 * one stops at once.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { deploymentNames } from "../../aws/names.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { splitPolicyBounds } from "../../core/split-policy.ts";
import { announcement, announcementJson } from "../../localstack/announcement.ts";
import {
  startEmbeddedStack,
  type EmbeddedStack,
  type EmbeddedStackOptions,
} from "../../localstack/embedded-stack.ts";
import { assertDistinct, loadConfig, type StackConfig } from "../../localstack/stack-config.ts";
import { StackError } from "../../localstack/stack-error.ts";
import { createStackLog, logLevels, type LogLevel } from "../../localstack/stack-log.ts";
import { tableFromText, tableTextForm, type TableSetup } from "../../localstack/table-setup.ts";
import { assertStackPackages, builtScripts } from "../package.ts";
import { defaultPorts } from "../default-ports.ts";
import { openStackConsole, type RunningConsole } from "../open-console.ts";
import type { Shell } from "../shell/shell.ts";

type StartOptions = {
  readonly apiPort?: number;
  readonly dynamodbPort?: number;
  readonly kinesisPort?: number;
  readonly consolePort?: number;
  readonly console: boolean;
  readonly data?: string;
  readonly deployment?: string;
  readonly region?: string;
  readonly table: readonly TableSetup[];
  readonly history: readonly string[];
  readonly mixed: readonly string[];
  readonly base: readonly string[];
  readonly config?: string;
  /** Undefined if not said. */
  readonly sampleTables?: boolean;
  /** Undefined if not said. */
  readonly tablesOnly?: boolean;
  readonly shards?: number;
  /** Undefined if not said; true without a number. */
  readonly autoSplit?: true | number;
  readonly logLevel: LogLevel;
  readonly json?: boolean;
};

/** npm passes a Ctrl-C on to a process that the terminal has already told: one key, two signals. */
const echoMs = 300;
const parentLookMs = 250;

export function startCommand(shell: Shell): Command {
  return new Command("start")
    .description(
      "Runs Tidemark on this machine: DynamoDB and Kinesis servers, the deployed functions " +
        "behind a local event source mapping, the REST API, and a console for the browser. " +
        "Nothing listens beyond it.",
    )
    .addOption(
      many("--table <table>", `a table to create and register: ${tableTextForm}`, addTable),
    )
    .addOption(many("--history <table>", "keep the superseded versions of this --table", addName))
    .addOption(many("--mixed <table>", "native operations may write this --table, too", addName))
    .addOption(many("--base <table>", "BASE transactions may use this --table", addName))
    .option("--config <file>", "settings (default: tidemark.config.ts, .mts, .js, .mjs or .json)")
    .option("--api-port <port>", portHelp("the REST API", defaultPorts.api), parsePort)
    .option("--dynamodb-port <port>", portHelp("DynamoDB", defaultPorts.dynamodb), parsePort)
    .option("--kinesis-port <port>", portHelp("Kinesis", defaultPorts.kinesis), parsePort)
    .option("--console-port <port>", consolePortHelp, parsePort)
    .option("--no-console", "no console in the browser")
    .option("--data <folder>", "keep the data here over restarts (default: in memory)", parseFolder)
    .option("--deployment <name>", "name of the deployment (default: local)", parseDeployment)
    .option("--region <name>", "AWS region to pretend (default: us-east-1)")
    .option("--tables-only", "no stream and no oracle: clients append to the log themselves")
    .option("--shards <n>", "logs with an oracle each, 1 to 64 (default: 1)", parseShards)
    .option(
      "--auto-split [entries]",
      "split a shard whose log takes so many entries a second (default: 200), for 20 s",
      parseEntries,
    )
    .option("--sample-tables", "create and fill the sample tables (default)")
    .option("--no-sample-tables", "do not")
    .addOption(
      new Option("--log-level <level>", "least severe level to log")
        .choices(logLevels)
        .default("info"),
    )
    .option("--json", "announce as one line of JSON, and log JSON")
    .addHelpText(
      "after",
      "\nExamples:\n" +
        "  tidemark start\n" +
        "  tidemark start --table orders:customer,placedAt:N --table accounts:id\n" +
        "  tidemark start --table accounts:id --history accounts --base accounts\n" +
        "  tidemark start --data .tidemark --log-level debug\n" +
        "  tidemark start --tables-only\n" +
        "  tidemark start --shards 4\n" +
        "  tidemark start --auto-split\n" +
        "  tidemark start --api-port 0 --dynamodb-port 0 --kinesis-port 0 --json\n",
    )
    .action(shell.act((options: StartOptions) => start(shell, options)));
}

/** Ends the process by itself. */
async function start(shell: Shell, options: StartOptions): Promise<never> {
  const signal = new SignalWatch();
  try {
    assertStackPackages();
    const config = await loadConfig(options.config, process.cwd());
    const wanted = stackOptions(options, config);
    const stack = await startEmbeddedStack(wanted);
    signal.stack = stack;
    const console = await consoleOf(stack, options, config);
    const { dataFolder, tables = [] } = wanted;
    const ownTables = tables.map(({ name }) => name);
    process.stdout.write(
      options.json === true
        ? announcementJson(stack, console?.url)
        : announcement(stack, {
            ...{ dataFolder, ownTables },
            configFile: config.file,
            consoleUrl: console?.url,
          }),
    );
    const reason = await Promise.race([signal.received, stack.lost]);
    if (reason instanceof StackError) {
      process.exitCode = shell.tell(reason, options) ?? 1;
    } else if (options.json !== true) {
      process.stdout.write("\nStopping (once more to stop at once)…\n");
    }
    await console?.close();
    await stack.stop();
  } catch (error) {
    const exitCode = shell.tell(error, options);
    if (exitCode === undefined) throw error;
    process.exitCode = exitCode;
  }
  // Sockets of clients that never hang up must not keep a stopped stack alive.
  process.exit();
}

/** @throws StackError for a port that was asked for and cannot be had; nothing runs then. */
async function consoleOf(
  stack: EmbeddedStack,
  options: StartOptions,
  config: StackConfig,
): Promise<RunningConsole | undefined> {
  if (!options.console) return undefined;
  const port = options.consolePort ?? config.ports?.console;
  try {
    return await openStackConsole(stack, { port, option: "--console-port" });
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

/** The first signal resolves `received`; one more ends everything. */
class SignalWatch {
  stack: EmbeddedStack | undefined;
  readonly received: Promise<string>;

  constructor() {
    let firstMs: number | undefined;
    this.received = new Promise((resolve) => {
      for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
        process.on(name, () => {
          if (firstMs !== undefined && performance.now() - firstMs > echoMs) {
            void this.#endAtOnce();
            return;
          }
          firstMs ??= performance.now();
          // Before the stack is up there is nothing to stop in order: children leave with this
          // process.
          if (this.stack === undefined) process.exit(130);
          resolve(name);
        });
      }
      this.#watchNpm(() => {
        if (this.stack === undefined) process.exit(130);
        resolve("SIGHUP");
      });
    });
  }

  /** A signal that ends npm ends the shell in between as well, and does not come further. */
  #watchNpm(orphaned: () => void): void {
    if (process.env["npm_command"] === undefined) return;
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      orphaned();
    }, parentLookMs);
    timer.unref();
  }

  async #endAtOnce(): Promise<void> {
    // Also for `start`, which may see the stack stopped before this does.
    process.exitCode = 130;
    await this.stack?.abandon();
    process.exit();
  }
}

/** @throws InvalidRequestError for tables that contradict each other. */
function stackOptions(options: StartOptions, config: StackConfig): EmbeddedStackOptions {
  const ports = {
    api: options.apiPort ?? config.ports?.api ?? defaultPorts.api,
    dynamodb: options.dynamodbPort ?? config.ports?.dynamodb ?? defaultPorts.dynamodb,
    kinesis: options.kinesisPort ?? config.ports?.kinesis ?? defaultPorts.kinesis,
  };
  const console = options.consolePort ?? config.ports?.console ?? 0;
  assertOwnPorts({ ...ports, console });
  return {
    ports,
    dataFolder: options.data ?? config.data,
    deployment: options.deployment ?? config.deployment ?? "local",
    region: options.region ?? config.region ?? "us-east-1",
    sampleTables: options.sampleTables ?? config.sampleTables ?? true,
    tablesOnly: options.tablesOnly ?? config.tablesOnly ?? false,
    shards: options.shards ?? config.shards,
    autoSplit: autoSplitOf(options, config),
    tables: ownTables(options, config),
    scripts: builtScripts(),
    log: createStackLog({
      level: options.logLevel,
      format: options.json === true ? "json" : "text",
      output: process.stderr,
      colors: process.stderr.isTTY && process.env["NO_COLOR"] === undefined,
    }),
  };
}

/** @throws InvalidRequestError naming two servers that would have one port. */
function assertOwnPorts(ports: Readonly<Record<string, number>>): void {
  const servers = Object.entries(ports).filter(([, port]) => port !== 0);
  for (const [at, [server, port]] of servers.entries()) {
    const [other] = servers.slice(0, at).find(([, taken]) => taken === port) ?? [];
    if (other === undefined) continue;
    throw new InvalidRequestError(
      `ports.${server}`,
      `--${other}-port and --${server}-port are both ${port.toString()} (given, configured, or ` +
        "by default); give each server a port of its own, or 0 for any free one",
    );
  }
}

/** Those of the command line count before the configuration's of the same name. */
function ownTables(options: StartOptions, config: StackConfig): readonly TableSetup[] {
  assertDistinct(options.table);
  const named = new Set(options.table.map(({ name }) => name));
  const tables = [...config.tables.filter(({ name }) => !named.has(name)), ...options.table];
  for (const option of ["history", "mixed", "base"] as const) {
    const unknown = options[option].find((name) => !tables.some((table) => table.name === name));
    if (unknown === undefined) continue;
    const remedy = `--${option} ${unknown}: add --table ${unknown}:<key>`;
    throw new InvalidRequestError(option, remedy);
  }
  return tables.map((table) => ({
    ...table,
    ...(options.history.includes(table.name) ? { history: true } : {}),
    ...(options.mixed.includes(table.name) ? { access: "mixed" } : {}),
    ...(options.base.includes(table.name) ? { base: true } : {}),
  }));
}

const consolePortHelp =
  `port of the console; 0 takes any free one (default: ${defaultPorts.console}, or any ` +
  "free one where that is taken)";

/** One that may be given again and again. */
function many<Value>(
  flags: string,
  description: string,
  add: (text: string, before: readonly Value[]) => readonly Value[],
): Option {
  return new Option(flags, description).argParser(add).default([], "none");
}

function addTable(text: string, before: readonly TableSetup[]): readonly TableSetup[] {
  return [...before, argument(() => tableFromText(text))];
}

function addName(name: string, before: readonly string[]): readonly string[] {
  return [...before, name];
}

function portHelp(what: string, usual: number): string {
  return `port of ${what}; 0 takes any free one (default: ${usual.toString()})`;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new InvalidArgumentError("A port is a whole number from 0 to 65535.");
  }
  return port;
}

function parseShards(text: string): number {
  const shards = Number(text);
  if (!/^\d+$/.test(text) || shards < 1 || shards > limits.shardsMax) {
    throw new InvalidArgumentError(`A deployment has 1 to ${limits.shardsMax.toString()} shards.`);
  }
  return shards;
}

/** Of the command line the number; what else the configuration says stays. */
function autoSplitOf(
  { autoSplit }: StartOptions,
  config: StackConfig,
): EmbeddedStackOptions["autoSplit"] {
  if (typeof autoSplit !== "number") return autoSplit ?? config.autoSplit;
  const said = typeof config.autoSplit === "object" ? config.autoSplit : {};
  return { ...said, entriesPerSecond: autoSplit };
}

function parseEntries(text: string): number {
  const { min, max } = splitPolicyBounds.entriesPerSecond;
  const entries = Number(text);
  if (!/^\d+$/.test(text) || entries < min || entries > max) {
    throw new InvalidArgumentError(`A whole number from ${min.toString()} to ${max.toString()}.`);
  }
  return entries;
}

function parseFolder(text: string): string {
  if (text === "") throw new InvalidArgumentError("Name a folder.");
  return text;
}

function parseDeployment(text: string): string {
  return argument(() => deploymentNames(text).deployment);
}

function argument<Value>(parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
