import type { StepError } from "./record.ts";

/** What a step threw when it was first run; the error's own kind is not kept. */
export class StepFailedError extends Error {
  override readonly name = "StepFailedError";
  /** The step's name, and what its error was called. */
  readonly step: string;
  readonly errorName: string;
  constructor(step: string, { name, message }: StepError) {
    super(message);
    this.step = step;
    this.errorName = name;
  }
}
