/** What a runner of BASE transactions as a function tells CloudWatch; loaded with its first run. */
import * as limits from "../core/limits.ts";
import type { Clock } from "../core/ports.ts";
import type { TroubleOfOne } from "../engine/base/types.ts";
import type { BaseTrouble } from "./base.ts";
import { emfLine } from "./emf-line.ts";

/**
 * Metrics by trouble, in the namespace `Tidemark`, of the dimension `FunctionName`: each counts
 * BASE transactions, once an invocation. The module's alarms stand on them.
 */
export const baseRunnerMetrics = {
  parked: "BaseParked",
  "no-handler": "BaseWithoutHandler",
  "handler-failed": "BaseHandlerFailed",
} as const satisfies Record<TroubleOfOne["kind"], string>;

type Lines = {
  readonly functionName: string | undefined;
  readonly clock: Pick<Clock, "nowMs">;
  readonly sink: (line: string) => void;
};

/**
 * Writes lines of one invocation: a metric, with what it is of beside it. Whoever may ask for BASE
 * transactions must not be able to fill the log: of many the last are counted by one line, at its
 * end.
 */
export class TroubleLines {
  readonly #lines: Lines;
  readonly #counts = new Map<TroubleOfOne["kind"], number>();

  constructor(lines: Lines) {
    this.#lines = lines;
  }

  tell(trouble: BaseTrouble): void {
    // An invocation that the store does not answer fails, and an alarm stands on that.
    if (trouble.name === undefined) return;
    const { kind, name, id, version, cause } = trouble;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count > limits.baseTroubleLinesMax) return;
    const whole = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    const text = whole.slice(0, limits.baseErrorLengthMax);
    const beside = { base: name, id, version, ...(cause === undefined ? {} : { cause: text }) };
    this.#write(kind, 1, beside);
  }

  end(): void {
    for (const [kind, count] of this.#counts) {
      const more = count - limits.baseTroubleLinesMax;
      if (more > 0) this.#write(kind, more, { more });
    }
  }

  #write(
    kind: TroubleOfOne["kind"],
    value: number,
    beside: Readonly<Record<string, string | number>>,
  ): void {
    const { functionName, clock, sink } = this.#lines;
    const dimensions = functionName === undefined ? {} : { FunctionName: functionName };
    const metric = { name: baseRunnerMetrics[kind], unit: "Count", value } as const;
    const about = { namespace: "Tidemark", dimensions, nowMs: clock.nowMs() };
    sink(emfLine(about, [metric], { trouble: kind, ...beside }));
  }
}
