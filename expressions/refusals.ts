/** The refusals of DynamoDB that more than one operation gives, in the service's words. */
import type { Item } from "../core/types.ts";
import { ServiceError } from "./service-error.ts";

export function invalid(message: string): ServiceError {
  return new ServiceError("ValidationException", { message });
}

/** A value or parameter that is wrong in itself. */
export function invalidParameter(detail: string): ServiceError {
  return invalid(`One or more parameter values were invalid: ${detail}`);
}

/**
 * An attribute that does not fit the table's key. In a transaction it is a reason to cancel, alone
 * it is refused.
 */
export class MisfitError extends ServiceError {
  constructor(message: string) {
    super("ValidationException", { message });
  }
}

export const keyMismatchMessage = "The provided key element does not match the schema";

export function keyMismatch(): ServiceError {
  return invalid(keyMismatchMessage);
}

export function keyTypeMismatch(): MisfitError {
  return new MisfitError(keyMismatchMessage);
}

export function misfit(detail: string): MisfitError {
  return new MisfitError(`One or more parameter values were invalid: ${detail}`);
}

/** What the wire's deserializer says to a value of the wrong shape. */
export function malformed(detail: string): ServiceError {
  return new ServiceError("SerializationException", { message: detail });
}

export function tableMissing(table?: string): ServiceError {
  const detail = table === undefined ? "" : `: Table: ${table} not found`;
  return new ServiceError("ResourceNotFoundException", {
    message: `Requested resource not found${detail}`,
  });
}

/** @param item the item that stood in the way, where the request asks for it. */
export function conditionFailed(item: Item | undefined): ServiceError {
  return new ServiceError("ConditionalCheckFailedException", {
    message: "The conditional request failed",
    item,
  });
}

export function missing(parameter: string): Error {
  return invalid(`The parameter '${parameter}' is required but was not present in the request`);
}

/**
 * Of a program without types. `NaN` as a limit would be a page without rows.
 * @throws ServiceError for a value that the wire's deserializer does not take.
 */
export function requireJsonType(
  parameter: string,
  value: unknown,
  type: "integer" | "boolean",
): void {
  if (value === undefined) return;
  const fits = type === "integer" ? Number.isSafeInteger(value) : typeof value === "boolean";
  if (!fits) throw malformed(`${parameter}: ${typeof value} cannot be converted to ${type}`);
}

/** @throws ServiceError for a value that the parameter does not take. */
export function requireOneOf(
  parameter: string,
  value: string | undefined,
  allowed: readonly string[],
): void {
  if (value === undefined || allowed.includes(value)) return;
  throw invalid(
    `1 validation error detected: Value '${value}' at '${parameter}' failed to satisfy ` +
      "constraint: " +
      `Member must satisfy enum value set: [${allowed.join(", ")}]`,
  );
}
