/** How a step's body has ended, as it is recorded. */
import { InvalidRequestError } from "../../core/errors.ts";
import { valueSizeBytes } from "../../core/item-size.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue } from "../../core/types.ts";
import type { TransactionContext } from "../attempts/transaction-context.ts";
import type { BodyTransaction } from "../types.ts";
import type { StepError } from "./record.ts";
import { isOfBody } from "./step-errors.ts";

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
  { views }: TransactionContext,
  isAccepted: boolean,
): Promise<StepEnd> {
  try {
    const value = await body(transaction);
    assertSize(`step "${name}"`, value);
    return { kind: "returned", value, error: undefined };
  } catch (error) {
    if (!isAccepted || views.fate.doomed !== undefined || !isOfBody(error)) throw error;
    transaction.rollback();
    const { name: errorName, message } = error as Error;
    return { kind: "failed", error: error as Error, failure: { name: errorName, message } };
  }
}

/** @throws InvalidRequestError for what is too large to be kept. */
export function assertSize(what: string, value: AttributeValue): void {
  const bytes = valueSizeBytes(value);
  if (bytes <= limits.baseValueBytesMax) return;
  throw new InvalidRequestError(
    "result",
    `${what} returned ${bytes} bytes, above the limit baseValueBytesMax of ` +
      `${limits.baseValueBytesMax}: return less, such as a key by which the rest is found`,
  );
}
