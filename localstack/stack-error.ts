/** Why the embedded stack cannot start or go on, in one line meant for whoever started it. */
import type { FailureReason } from "./process-messages.ts";

export class StackError extends Error {
  override readonly name = "StackError";
  readonly reason: FailureReason;
  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
