/** Parameters from before there were expressions. */
const legacyParameters = [
  ...["AttributesToGet", "AttributeUpdates", "ConditionalOperator", "Expected"],
  ...["KeyConditions", "QueryFilter", "ScanFilter"],
] as const;

/** The first such parameter that a request has. */
export function legacyParameter(input: object): string | undefined {
  const given = input as Readonly<Record<string, unknown>>;
  return legacyParameters.find((name) => given[name] !== undefined);
}
