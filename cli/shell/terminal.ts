/**
 * What a command has around it: where it writes to, what it may assume of the reader, and the time.
 * Tests give one of their own.
 */
import { systemClock } from "../../aws/system.ts";
import type { Clock } from "../../core/ports.ts";
import { stylesFor, type Styles } from "./styles.ts";

export type Terminal = {
  /** Answers, to standard output, as they are. */
  readonly print: (text: string) => void;
  /** What is no answer, to standard error: faults, progress. */
  readonly say: (text: string) => void;
  /** Of the answers; plain where nobody looks at them, or does not want colours. */
  readonly styles: Styles;
  /** Somebody looks at the answers: lists may be drawn anew in place. */
  readonly isInteractive: boolean;
  /** Somebody looks at standard error: it may tell of progress. */
  readonly showsProgress: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where files are looked for. */
  readonly folder: string;
  readonly clock: Clock;
  /** Aborted when the user has had enough (Ctrl-C); for commands that go on by themselves. */
  readonly untilStopped: () => AbortSignal;
};

export function processTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  // Who reads no further (`| head`) has seen enough, which is no failure.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    throw error;
  });
  let stopped: AbortController | undefined;
  return {
    print: (text) => void stdout.write(text),
    say: (text) => void stderr.write(text),
    styles: stylesFor(stdout.isTTY, env),
    isInteractive: stdout.isTTY,
    showsProgress: stderr.isTTY,
    environment: env,
    folder: process.cwd(),
    clock: systemClock,
    untilStopped: () => {
      if (stopped !== undefined) return stopped.signal;
      const controller = new AbortController();
      stopped = controller;
      for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
        process.once(name, () => {
          controller.abort(new Error("stopped"));
        });
      }
      return controller.signal;
    },
  };
}
