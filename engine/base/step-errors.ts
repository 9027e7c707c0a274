/** What errors mean to a step: worth another run, or how it has ended. */
import { InvariantViolation } from "../../core/assert.ts";
import {
  CommitUnknownError,
  InvalidRequestError,
  StoreError,
  TransactionError,
} from "../../core/errors.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import { UnknownTableError } from "../table-registry.ts";
import { ReservedError } from "./held.ts";

/** Nothing is wrong with what was asked for. */
export function isWorthAnother(error: unknown): boolean {
  if (error instanceof CommitUnknownError || error instanceof StoreError) return true;
  return error instanceof TransactionError && error.retryable;
}

/** A right is missing, a table, or a signature that is believed: a matter of the deployment. */
export function isRefusedByStore(error: unknown): boolean {
  return error instanceof InvalidRequestError && error.cause instanceof StoreError;
}

/** It is about a table that may be registered by now, or have been all the time. */
export function isOfOldRegistry(
  error: unknown,
  { registry, call, ports }: Pick<AttemptServices, "registry" | "call" | "ports">,
): boolean {
  const sinceMs = ports.clock.monotonicMs() - call.beganMs;
  return error instanceof UnknownTableError && registry.ageMs > sinceMs;
}

/** Of the application's, or final: to run the step again would end the same way. */
export function isOfBody(error: unknown): boolean {
  if (error instanceof InvariantViolation || error instanceof ReservedError) return false;
  return error instanceof Error && !isWorthAnother(error) && error.name !== "AbortError";
}
