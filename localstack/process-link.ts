/**
 * The child's end of the line to the supervisor. A child never outlives its supervisor: when the
 * channel closes, whatever killed the other end, the child exits at once. Ctrl-C reaches the whole
 * terminal group, but stopping in order is the supervisor's business, so a child ignores it.
 */
import type { FailureReason, FromProcess, ToProcess } from "./process-messages.ts";

export type ProcessLink = {
  send(message: FromProcess): void;
  /** Reports why this process cannot start and exits. */
  fail(reason: FailureReason, message: string): void;
};

export type ProcessRole = {
  /** What this process was told to do; a rejection is a defect and ends the process. */
  onMessage(message: Exclude<ToProcess, { kind: "stop" }>): Promise<void>;
  /** Finishes what is under way; the process exits after it. */
  onStop(): Promise<void>;
};

/** @param name shown by `ps`. */
export function linkToSupervisor(name: string, connect: (link: ProcessLink) => ProcessRole): void {
  process.title = `tidemark ${name}`;
  if (process.send === undefined) {
    process.stderr.write("This is a part of the embedded stack; start it with `npm start`.\n");
    process.exit(1);
  }
  const link: ProcessLink = {
    send(message) {
      // Fails when the supervisor has just gone; `disconnect` follows and ends the process.
      if (process.connected) process.send?.(message, undefined, {}, () => undefined);
    },
    fail(reason, message) {
      process.send?.({ kind: "failed", reason, message } satisfies FromProcess, () =>
        process.exit(1),
      );
    },
  };
  const role = connect(link);
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    role.onStop().then(
      () => process.exit(0),
      (error: unknown) => crash(error),
    );
  };
  process.on("message", (message) => {
    const received = message as ToProcess;
    if (received.kind === "stop") stop();
    else role.onMessage(received).catch(crash);
  });
  process.on("disconnect", () => process.exit(0));
  process.on("SIGINT", () => undefined);
  process.on("SIGHUP", () => undefined);
  process.on("SIGTERM", stop);
  // Output that nobody reads any more must not keep a process from ending in order.
  process.stdout.on("error", () => undefined);
  process.stderr.on("error", () => undefined);
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
}

function crash(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${text}\n`, () => process.exit(70));
}
