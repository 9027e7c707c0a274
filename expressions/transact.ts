/**
 * What TransactWriteItems and TransactGetItems ask of a request as a whole, and how they refuse it:
 * whoever stands in for them, or answers them within a transaction, says the same.
 */
import { itemSizeBytes } from "../core/item-size.ts";
import type { Item } from "../core/types.ts";
import { requireKey, type KeySchema } from "./key-schema.ts";
import { tokenLengthMax, transactionBytesMax, transactionItemsMax } from "./limits.ts";
import { invalid, keyMismatchMessage, MisfitError } from "./refusals.ts";
import { sentMembers } from "./sent-members.ts";
import { ServiceError, type CancellationReason } from "./service-error.ts";
import { partKinds, partNames, type PartName } from "./write-kinds.ts";
import type { Decision, WriteInput } from "./writes.ts";

/** One of these, and no other, is set. */
export type TransactPart = { readonly [Name in PartName]?: WriteInput["input"] | undefined };

const distinctMessage = "Transaction request cannot include multiple operations on one item";

/** @throws ServiceError for a token, or a count of parts, that no request may have. */
export function checkTransact(parts: readonly unknown[] = [], token?: string): void {
  if (token !== undefined && (token === "" || token.length > tokenLengthMax)) {
    throw invalid("ClientRequestToken must have 1 to 36 characters");
  }
  if (parts.length < 1) {
    throw invalid(
      "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: " +
        "Member must have length greater than or equal to 1",
    );
  }
  if (parts.length > transactionItemsMax) {
    throw invalid("Member must have length less than or equal to 100");
  }
}

/**
 * The one write that a part consists of, bound by `bind`. A misfit is no failure yet: it becomes
 * the reason of its part.
 * @throws ServiceError for a part that is none, or more than one.
 */
export function writeOrMisfit<Write>(
  given: TransactPart,
  bind: (write: WriteInput) => Write,
): Write | MisfitError {
  const part = sentMembers(given);
  const names = partNames.filter((name) => part[name] !== undefined);
  const [name] = names;
  const input = name === undefined ? undefined : part[name];
  if (name === undefined || input === undefined || names.length > 1) {
    throw invalid("TransactItems can only contain one of Check, Put, Update or Delete");
  }
  try {
    return bind({ kind: partKinds[name], input: sentMembers(input) });
  } catch (error) {
    if (error instanceof MisfitError) return error;
    throw error;
  }
}

/** @throws ServiceError when two of the texts, one for each item, are equal. */
export function requireDistinctItems(texts: readonly string[]): void {
  if (new Set(texts).size < texts.length) throw invalid(distinctMessage);
}

/**
 * What each part comes to.
 * @throws ServiceError TransactionCanceledException with a reason for each part.
 */
export function decideAll<Write extends object>(
  writes: readonly (Write | MisfitError)[],
  decide: (write: Write) => Decision,
): readonly Decision[] {
  const decisions: Decision[] = [];
  const reasons = writes.map((write): CancellationReason => {
    try {
      if (write instanceof MisfitError) throw write;
      decisions.push(decide(write));
      return { Code: "None" };
    } catch (error) {
      if (error instanceof ServiceError) return reasonOf(error);
      throw error;
    }
  });
  refuseUnlessAll(reasons);
  requireSize(decisions);
  return decisions;
}

/** @throws ServiceError TransactionCanceledException when a key does not fit its table. */
export function requireKeys(
  reads: readonly { readonly schema: KeySchema; readonly key: Item }[],
): void {
  refuseUnlessAll(reads.map(({ schema, key }) => keyReason(schema, key)));
}

/** The same for the same request, whatever the order of its members. */
export function requestText(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => {
    if (member instanceof Uint8Array) return { bytes: [...member] };
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/**
 * Whether it is the request that its token stands for.
 * @param known the one that was done with the token; undefined: none was.
 * @throws ServiceError when the token has stood for another request.
 */
export function isRepeated(known: string | undefined, request: string): boolean {
  if (known === undefined) return false;
  if (known === request) return true;
  throw new ServiceError("IdempotentParameterMismatchException", {
    message: "The provided client token was used with other parameters",
  });
}

function reasonOf(error: ServiceError): CancellationReason {
  const isCondition = error.name === "ConditionalCheckFailedException";
  return {
    Code: isCondition ? "ConditionalCheckFailed" : "ValidationError",
    Message: error.message,
    ...(error.Item === undefined ? {} : { Item: error.Item }),
  };
}

function keyReason(schema: KeySchema, key: Item): CancellationReason {
  try {
    requireKey(schema, key);
    return { Code: "None" };
  } catch (error) {
    const isMismatch = error instanceof ServiceError && error.message === keyMismatchMessage;
    if (isMismatch) return reasonOf(error);
    throw error;
  }
}

function refuseUnlessAll(reasons: readonly CancellationReason[]): void {
  const codes = reasons.map(({ Code }) => Code ?? "None");
  if (codes.every((code) => code === "None")) return;
  throw new ServiceError("TransactionCanceledException", {
    message:
      "Transaction cancelled, please refer cancellation reasons for specific reasons " +
      `[${codes.join(", ")}]`,
    cancellationReasons: reasons,
  });
}

function requireSize(decisions: readonly Decision[]): void {
  const bytes = decisions.reduce(
    (sum, { after }) => sum + (after === undefined ? 0 : itemSizeBytes(after)),
    0,
  );
  if (bytes <= transactionBytesMax) return;
  throw invalid(`Transaction payload size cannot exceed 4MB. Payload Size: ${bytes.toString()}`);
}
