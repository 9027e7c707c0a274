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

/**
 * It may be of another account or region, and its table of the same name as one of these.
 * @throws InvalidRequestError for a table that is named by its ARN.
 */
export function refuseArn(table: unknown): void {
  if (typeof table !== "string" || !table.startsWith("arn:")) return;
  throw new InvalidRequestError(
    "TableName",
    "a transaction knows tables by their names, and not by ARNs, which may be of other accounts",
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
export function checkRequest(input: Reported & { readonly TableName?: unknown }): void {
  checkPart(input);
  requireOneOf("returnConsumedCapacity", input.ReturnConsumedCapacity, [
    ...["INDEXES", "TOTAL", "NONE"],
  ]);
  requireOneOf("returnItemCollectionMetrics", input.ReturnItemCollectionMetrics, [
    ...["SIZE", "NONE"],
  ]);
}

/** Of a part of a request. @throws InvalidRequestError. */
export function checkPart(input: { readonly TableName?: unknown }): void {
  refuseLegacy(input);
  refuseArn(input.TableName);
}
