/** How a step's body has ended, as it is recorded. */
import { InvalidRequestError } from "../../core/errors.ts";
import { valueSizeBytes } from "../../core/item-size.ts";
import { validateKept } from "../../core/item-validation.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue } from "../../core/types.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import type { BodyTransaction } from "../types.ts";
import type { StepError } from "./record.ts";
import { isOfBody, isOfOldRegistry, isRefusedByStore } from "./step-errors.ts";

/** Of a value in its record: in a map (record.ts). */
const keptDepth = 2;

export type StepEnd =
  | { readonly kind: "returned"; readonly value: AttributeValue; readonly error: undefined }
  | { readonly kind: "failed"; readonly failure: StepError; readonly error: Error };

/**
 * Runs the body. One that throws has read what its handler goes by from then on: that is recorded,
 * and held, as of any other, and nothing that it wrote. Before anything is accepted it is the end.
 */
export async function endOf(
  {
    name,
    body,
  }: {
    readonly name: string;
    readonly body: (transaction: BodyTransaction) => Promise<AttributeValue>;
  },
  transaction: BodyTransaction,
  {
    context: { views },
    services,
    isAccepted,
  }: {
    readonly context: TransactionContext;
    readonly services: AttemptServices;
    readonly isAccepted: boolean;
  },
): Promise<StepEnd> {
  try {
    const value = await body(transaction);
    assertKept(`step "${name}" returned`, value);
    return { kind: "returned", value, error: undefined };
  } catch (error) {
    if (!isAccepted || views.fate.doomed !== undefined || !isOfBody(error)) throw error;
    // Of this process, and what another one would not meet: no step fails by that for good.
    if (isOfOldRegistry(error, services) || isRefusedByStore(error)) throw error;
    // probe: base-step-fails
    transaction.rollback();
    return failedBy(error as Error);
  }
}

/** What of it is kept is cut: no error is too large to be told to a later run. */
export function failedBy(error: Error): StepEnd & { readonly kind: "failed" } {
  const { name, message } = error;
  const failure = { name: kept(name), message: kept(message) };
  return { kind: "failed", error, failure };
}

/** Of a program's text, what an item can hold. */
export function kept(text: unknown): string {
  if (typeof text !== "string") return "";
  return text.slice(0, limits.baseErrorLengthMax).replace(/\p{Surrogate}/gu, "\ufffd");
}

/** @throws InvalidRequestError for what is too large to be kept, or what no item can hold. */
export function assertKept(what: string, value: AttributeValue, field = "result"): void {
  validateKept(value, field, keptDepth);
  const bytes = valueSizeBytes(value);
  if (bytes <= limits.baseValueBytesMax) return;
  throw new InvalidRequestError(
    field,
    `${what} ${bytes} bytes, above the limit baseValueBytesMax of ` +
      `${limits.baseValueBytesMax}: give less, such as a key by which the rest is found`,
  );
}
