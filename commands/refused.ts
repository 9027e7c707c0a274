/**
 * What is refused inside of a transaction, by name: PartiQL, and legacy parameters, which exclude
 * expressions.
 */
import { InvalidRequestError } from "../core/errors.ts";
import { legacyParameter } from "../expressions/legacy-parameters.ts";
import { requireOneOf } from "../expressions/refusals.ts";

/** @throws InvalidRequestError naming the parameter. */
function refuseLegacy(input: object): void {
  const name = legacyParameter(input);
  if (name === undefined) return;
  throw new InvalidRequestError(
    name,
    `${name} is a legacy parameter of DynamoDB's, and cannot be used inside of a transaction: ` +
      "use expressions instead",
  );
}

/** @throws InvalidRequestError */
export function refuseStatement(operation: string): never {
  throw new InvalidRequestError(
    "Statement",
    `${operation} is PartiQL, and cannot be used inside of a transaction: use GetItem, Query, ` +
      "PutItem, UpdateItem, DeleteItem or TransactWriteItems instead",
  );
}

/** What requests of all operations may say of their answers. */
export type Reported = {
  readonly ReturnConsumedCapacity?: "INDEXES" | "TOTAL" | "NONE" | undefined;
  readonly ReturnItemCollectionMetrics?: string | undefined;
};

/** @throws ServiceError, InvalidRequestError. */
export function checkRequest(input: Reported): void {
  refuseLegacy(input);
  requireOneOf("returnConsumedCapacity", input.ReturnConsumedCapacity, [
    ...["INDEXES", "TOTAL", "NONE"],
  ]);
  requireOneOf("returnItemCollectionMetrics", input.ReturnItemCollectionMetrics, [
    ...["SIZE", "NONE"],
  ]);
}

/** Of a part of a request. @throws InvalidRequestError. */
export function checkPart(input: object): void {
  refuseLegacy(input);
}
