/**
 * Amounts that were acknowledged, and amounts of which nobody knows whether they count: entered
 * beforehand, since a process that dies cannot tell any more.
 */
import { TransactionError } from "../../../core/errors.ts";
import type { NativeResult } from "../../native/native-items.ts";

export class Ledger {
  acknowledged = 0;
  open = 0;

  /** An amount that a transaction counts, if it commits and says so. */
  async transacted(amount: number, run: () => Promise<boolean>): Promise<void> {
    this.open += amount;
    try {
      const counts = await run();
      this.open -= amount;
      if (counts) this.acknowledged += amount;
    } catch (error) {
      if (error instanceof TransactionError && error.outcome !== "unknown") this.open -= amount;
      throw error;
    }
  }

  /** An amount that a native write counts. */
  async native(amount: number, run: () => Promise<NativeResult>): Promise<NativeResult> {
    this.open += amount;
    const result = await run();
    if (result.kind === "unknown") return result;
    this.open -= amount;
    if (result.kind === "done") this.acknowledged += amount;
    return result;
  }

  /** What is wrong with a sum that was found when all was over. */
  complaint(what: string, found: number): string | undefined {
    const { acknowledged, open } = this;
    if (found >= acknowledged && found <= acknowledged + open) return undefined;
    return (
      `${what} is ${found.toString()}; ${acknowledged.toString()} were acknowledged, ` +
      `${open.toString()} more may have been counted`
    );
  }
}
