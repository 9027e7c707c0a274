/** Steps that the preparation of many operations shares. */
import { legacyParameter } from "../../../expressions/legacy-parameters.ts";
import { requireOneOf } from "../../../expressions/refusals.ts";
import { NotModelledError } from "../not-modelled.ts";

/** @throws NotModelledError for a parameter that DynamoDB has and this model has not. */
export function requireModelled(input: object): void {
  const name = legacyParameter(input);
  if (name === undefined) return;
  throw new NotModelledError(`${name} is not modelled; use the expression that replaces it`);
}

/** Parameters of all item operations. @throws ServiceError. */
export function requireReportLevels(input: {
  readonly ReturnConsumedCapacity?: string | undefined;
  readonly ReturnItemCollectionMetrics?: string | undefined;
}): void {
  requireOneOf("returnConsumedCapacity", input.ReturnConsumedCapacity, [
    ...["INDEXES", "TOTAL", "NONE"],
  ]);
  requireOneOf("returnItemCollectionMetrics", input.ReturnItemCollectionMetrics, [
    ...["SIZE", "NONE"],
  ]);
  if (input.ReturnItemCollectionMetrics === "SIZE") {
    throw new NotModelledError("ReturnItemCollectionMetrics is not modelled");
  }
}
