/** What the demo's processes have said last, to be shown when something went wrong. */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { createStackLog, type StackLog } from "../localstack/stack-log.ts";
import { processErrorLinesMax } from "../localstack/limits.ts";

/** A line of the stack's log as text: `12:00:01.234 error oracle     …`. */
const logLine = /^\S+ (?<level>\w+) +(?<name>\S+)/;

export class ProcessLogs {
  readonly #lines = new Map<string, string[]>();
  readonly #say: (line: string) => void;

  /** @param say is told what must not wait for the end: errors, and everything from clients. */
  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  add(name: string, ...lines: readonly string[]): void {
    const kept = [...(this.#lines.get(name) ?? []), ...lines];
    this.#lines.set(name, kept.slice(-processErrorLinesMax));
  }

  /** Clients are silent unless something is wrong. */
  follow(name: string, output: Readable): void {
    createInterface({ input: output }).on("line", (line) => {
      this.add(name, line);
      this.#say(`${name}: ${line}`);
    });
  }

  /** For the processes of a stack of the demo's own. */
  stackLog(): StackLog {
    const write = (text: string): void => {
      const { level, name = "stack" } = logLine.exec(text)?.groups ?? {};
      const lines = text.trimEnd().split("\n");
      this.add(name, ...lines);
      if (level === "error") for (const line of lines) this.#say(line);
    };
    return createStackLog({ level: "warn", format: "text", output: { write } });
  }

  /** By process, oldest line first; those that said nothing are not there. */
  last(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(this.#lines);
  }

  text(): string {
    const parts = [...this.#lines].map(
      ([name, lines]) =>
        `  Last lines of ${name}:\n${lines.map((line) => `    ${line}\n`).join("")}`,
    );
    return parts.join("");
  }
}
