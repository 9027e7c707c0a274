/**
 * Tells of an outage: when a runner's looks at the store fail again and again, once, and once when
 * they are answered again. A look that fails now and then is nothing to tell of; so there are never
 * more than two in `limits.baseOutageMsMin`, however often the store comes and goes.
 */
import * as limits from "../../core/limits.ts";
import type { Clock } from "../../core/ports.ts";
import { publicError } from "../public-error.ts";
import type { BaseTrouble } from "./types.ts";

type Failing = { readonly sinceMs: number; readonly atMs: number; isTold: boolean };

export class Outage {
  readonly #tell: (trouble: BaseTrouble) => void;
  readonly #clock: Pick<Clock, "nowMs" | "monotonicMs">;
  /** Since the first look that has failed, of those in a row. */
  #failing: Failing | undefined;

  constructor(tell: (trouble: BaseTrouble) => void, clock: Pick<Clock, "nowMs" | "monotonicMs">) {
    this.#tell = tell;
    this.#clock = clock;
  }

  failed(cause: unknown): void {
    const failing = this.#failing;
    if (failing === undefined) {
      const [sinceMs, atMs] = [this.#clock.nowMs(), this.#clock.monotonicMs()];
      this.#failing = { sinceMs, atMs, isTold: false };
      return;
    }
    const forMs = this.#clock.monotonicMs() - failing.atMs;
    if (failing.isTold || forMs < limits.baseOutageMsMin) return;
    failing.isTold = true;
    this.#tell({ kind: "outage", sinceMs: failing.sinceMs, cause: publicError(cause) });
  }

  answered(): void {
    const failing = this.#failing;
    this.#failing = undefined;
    if (failing?.isTold !== true) return;
    this.#tell({ kind: "outage-over", sinceMs: failing.sinceMs });
  }
}
