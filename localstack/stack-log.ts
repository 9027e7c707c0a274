/**
 * The stack's log: one stream of structured lines from all processes, each under its process's
 * name. For a person at a terminal they are rendered as text, otherwise they are JSON.
 */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pino, type Logger } from "pino";
import { processErrorLinesMax } from "./limits.ts";

/** Those that the functions' own loggers know as well. */
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

export type StackLog = Logger;

type Fields = Readonly<Record<string, unknown>>;

/** Its lines bear no name yet: whoever logs takes a child with `process`. */
export function createStackLog(options: {
  readonly level: LogLevel;
  readonly format: "text" | "json";
  readonly output: { write(text: string): unknown };
  readonly colors?: boolean;
}): StackLog {
  const { output, format, colors = false } = options;
  return pino(
    { level: options.level, base: null },
    {
      write(line: string) {
        output.write(format === "json" ? line : textLine(line, colors));
      },
    },
  );
}

/** Passes a process's output on to the log; returns its last error lines, kept up to date. */
export function relayOutput(
  streams: { readonly stdout: Readable; readonly stderr: Readable },
  log: StackLog,
): readonly string[] {
  const lastErrors: string[] = [];
  createInterface({ input: streams.stdout }).on("line", (line) => {
    relayLine(line, log);
  });
  createInterface({ input: streams.stderr }).on("line", (line) => {
    lastErrors.push(line);
    if (lastErrors.length > processErrorLinesMax) lastErrors.shift();
    log.warn(line);
  });
  return lastErrors;
}

/** What every line has, and what our own line will have anew. */
const lineFields = ["level", "msg", "message", "time", "timestamp"];

function relayLine(line: string, log: StackLog): void {
  if (!line.startsWith("{")) {
    if (line !== "") log.info(line);
    return;
  }
  let fields: Fields;
  try {
    fields = JSON.parse(line) as Fields;
  } catch {
    log.info(line);
    return;
  }
  // Metrics in CloudWatch's embedded format; for a person they are noise.
  if ("_aws" in fields) {
    log.debug(fields, "metrics");
    return;
  }
  const { level, msg, message = msg } = fields;
  const rest = Object.entries(fields).filter(([name]) => !lineFields.includes(name));
  log[levelOf(level)](Object.fromEntries(rest), typeof message === "string" ? message : "");
}

/** Our processes name levels by pino's numbers, the functions' loggers by words. */
function levelOf(level: unknown): Exclude<LogLevel, "silent"> {
  const label = typeof level === "number" ? pino.levels.labels[level] : String(level).toLowerCase();
  switch (label) {
    case "trace":
    case "debug":
      return "debug";
    case "warn":
      return "warn";
    case "error":
    case "fatal":
    case "critical":
      return "error";
    default:
      return "info";
  }
}

/** In every line of a function's logger, and known or without meaning here. */
const repeatedFields = ["service", "deployment", "sampling_rate", "cold_start", "function_name"];

const colorOf: Readonly<Record<string, number>> = { warn: 33, error: 31 };

/** `12:00:01.234 warn  oracle      batch comes again: … shardId=…` */
function textLine(json: string, colors: boolean): string {
  const { level, time, process: name, msg, err, ...rest } = JSON.parse(json) as Fields;
  const label = pino.levels.labels[Number(level)] ?? "info";
  const clock = new Date(Number(time)).toISOString().slice(11, 23);
  const details = Object.entries(rest)
    .filter(([key]) => !repeatedFields.includes(key))
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
  const stack = typeof err === "object" && err !== null && "stack" in err ? String(err.stack) : "";
  const showStack = stack !== "" && label === "error";
  const head = `${clock} ${label.padEnd(5)} ${String(name).padEnd(10)}`;
  const color = colors ? colorOf[label] : undefined;
  const painted = color === undefined ? head : `\u001b[${color.toString()}m${head}\u001b[0m`;
  const tail = [typeof msg === "string" ? msg : "", details]
    .filter((part) => part !== "")
    .join("  ");
  return `${painted} ${tail}\n${showStack ? `${stack}\n` : ""}`;
}
