/**
 * `npm start`: the embedded stack from the command line. The announcement goes to standard output,
 * the log to standard error. Ctrl-C stops in order; a second one stops at once.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { deploymentNames } from "../aws/names.ts";
import { announcement, announcementJson } from "./announcement.ts";
import { startEmbeddedStack } from "./embedded-stack.ts";
import type { EmbeddedStack, EmbeddedStackOptions } from "./embedded-stack.ts";
import { StackError } from "./stack-error.ts";
import { createStackLog, logLevels } from "./stack-log.ts";
import type { LogLevel } from "./stack-log.ts";

type CliOptions = {
  readonly apiPort: number;
  readonly dynamodbPort: number;
  readonly kinesisPort: number;
  readonly data?: string;
  readonly deployment: string;
  readonly region: string;
  readonly sampleTables: boolean;
  readonly logLevel: LogLevel;
  readonly json: boolean;
};

const defaultPorts = { api: 4600, dynamodb: 4601, kinesis: 4602 } as const;
/** npm passes a Ctrl-C on to a process that the terminal has already told: one key, two signals. */
const echoMs = 300;

const program = new Command("npm start --")
  .description(
    "Runs Tidemark on this machine: DynamoDB and Kinesis servers, the deployed functions behind " +
      "a local " +
      "event source mapping, and the REST API. Nothing listens outside of this machine.",
  )
  .option("--api-port <port>", portHelp("the REST API"), parsePort, defaultPorts.api)
  .option("--dynamodb-port <port>", portHelp("DynamoDB"), parsePort, defaultPorts.dynamodb)
  .option("--kinesis-port <port>", portHelp("Kinesis"), parsePort, defaultPorts.kinesis)
  .option("--data <folder>", "keep the data here over restarts (default: in memory)", parseFolder)
  .option("--deployment <name>", "name of the deployment", parseDeployment, "local")
  .option("--region <name>", "AWS region to pretend", "us-east-1")
  .option("--no-sample-tables", "do not create and fill the sample tables")
  .addOption(
    new Option("--log-level <level>", "least severe level to log")
      .choices(logLevels)
      .default("info"),
  )
  .option("--json", "announce as one line of JSON, and log JSON", false)
  .addHelpText(
    "after",
    "\nExamples:\n" +
      "  npm start\n" +
      "  npm start -- --data .tidemark --log-level debug\n" +
      "  npm start -- --api-port 0 --dynamodb-port 0 --kinesis-port 0 --json\n",
  )
  .showHelpAfterError("(npm start -- --help shows all options)")
  .allowExcessArguments(false);

async function main(options: CliOptions): Promise<void> {
  const signal = new SignalWatch();
  try {
    const stack = await startEmbeddedStack(stackOptions(options));
    signal.stack = stack;
    process.stdout.write(
      options.json ? announcementJson(stack) : announcement(stack, options.data),
    );
    const reason = await Promise.race([signal.received, stack.lost]);
    if (reason instanceof StackError) {
      process.stderr.write(`tidemark: ${reason.message}\n`);
      process.exitCode = 1;
    } else if (!options.json) {
      process.stdout.write("\nStopping (once more to stop at once)…\n");
    }
    await stack.stop();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`tidemark: ${error.message}\n`);
    process.exitCode = 1;
  }
  // Sockets of clients that never hang up must not keep a stopped stack alive.
  process.exit();
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
    });
  }

  async #endAtOnce(): Promise<void> {
    // Also for `main`, which may see the stack stopped before this does.
    process.exitCode = 130;
    await this.stack?.abandon();
    process.exit();
  }
}

function stackOptions(options: CliOptions): EmbeddedStackOptions {
  return {
    ports: {
      api: options.apiPort,
      dynamodb: options.dynamodbPort,
      kinesis: options.kinesisPort,
    },
    dataFolder: options.data,
    deployment: options.deployment,
    region: options.region,
    sampleTables: options.sampleTables,
    log: createStackLog({
      level: options.logLevel,
      format: options.json ? "json" : "text",
      output: process.stderr,
      colors: process.stderr.isTTY && process.env["NO_COLOR"] === undefined,
    }),
  };
}

function portHelp(what: string): string {
  return `port of ${what}; 0 takes any free one`;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new InvalidArgumentError("A port is a whole number from 0 to 65535.");
  }
  return port;
}

function parseFolder(text: string): string {
  if (text === "") throw new InvalidArgumentError("Name a folder.");
  return text;
}

function parseDeployment(text: string): string {
  try {
    return deploymentNames(text).deployment;
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
program.parse();
await main(program.opts<CliOptions>());
