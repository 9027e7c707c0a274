/**
 * What went wrong in a turn at keeping house. The functions tell some of it by metrics alone, since
 * it stops nothing: a write that can never be installed, a tombstone that could not be removed. A
 * client has no metrics of theirs, so here it is a failure of the turn like any other.
 */
import { CorruptDataError, StoreError } from "../../../core/errors.ts";
import type { ReaperReport } from "../../reaper/service.ts";
import type { Observability } from "../../shared/observability.ts";
import { silentObservability } from "../../shared/silent-observability.ts";

export class TurnTroubles {
  readonly #failures: Error[] = [];
  #deadLetters = 0;

  /** For replay. */
  readonly observability: Observability = {
    ...silentObservability,
    metrics: {
      ...silentObservability.metrics,
      count: (name, value) => {
        if (name === "DeadLetters") this.#deadLetters += value;
      },
    },
  };

  failed(cause: unknown): void {
    this.#failures.push(cause instanceof Error ? cause : new Error(String(cause)));
  }

  reaped(report: ReaperReport | undefined): void {
    const [first] = report?.failures ?? [];
    if (first === undefined) return;
    const of = first.table === undefined ? "" : ` of ${first.table}`;
    const message = `tombstones${of} stay: ${first.message}`;
    const isDamage = first.fault === "damaged";
    this.failed(isDamage ? new CorruptDataError(message) : new StoreError(first.fault, message));
  }

  /** Of the turn that ends: one error, whatever their number; undefined where all went well. */
  take(): Error | undefined {
    const failures = this.#failures.splice(0);
    if (this.#deadLetters > 0) {
      const writes = this.#deadLetters.toString();
      failures.push(
        new CorruptDataError(
          `${writes} committed writes can never be installed; ` +
            "they stand as dead letters in the control table (docs/operations.md, Dead letters)",
        ),
      );
      this.#deadLetters = 0;
    }
    if (failures.length < 2) return failures[0];
    return new AggregateError(failures, failures.map(String).join("; "));
  }
}
