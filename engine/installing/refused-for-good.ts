/**
 * Writes that a table never takes, whoever sends them and when. The oracle lets none pass that it
 * can know (schemas/payload-scan.ts). What is left: tables that are gone, indexes that the registry
 * does not know, item collections that are full. Replay makes a dead letter of each, and the
 * watermark passes it.
 */
import { StoreError } from "../../core/errors.ts";

/** Access denied is not among them: an operator mends that. */
const refusedForGood: ReadonlySet<string> = new Set([
  "ValidationException",
  "ResourceNotFoundException",
  "ItemCollectionSizeLimitExceededException",
]);

/** Whether the store refuses this write for good, at any time and for any caller. */
export function isRefusedForGood(error: unknown): error is StoreError {
  return (
    error instanceof StoreError &&
    error.fault === "rejected" &&
    error.code !== undefined &&
    refusedForGood.has(error.code)
  );
}
