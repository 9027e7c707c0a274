/**
 * Inputs and outputs of DynamoDB's operations, as far as they are looked at here. Inputs have the
 * form in which the AWS SDK serializes them; outputs that of whoever called: a document client has
 * turned values into plain ones by then, so of an output's items only names count.
 */

/** A value as the wire has it: `{ S: "a" }`. */
export type WireValue = Readonly<Record<string, unknown>>;
export type WireItem = Readonly<Record<string, WireValue>>;
export type Names = Readonly<Record<string, string>>;

/** An item of an answer, of either form. */
export type ShownItem = Readonly<Record<string, unknown>>;

export type Expressed = {
  readonly ExpressionAttributeNames?: Names | undefined;
  readonly ExpressionAttributeValues?: WireItem | undefined;
};

/** PutItem, UpdateItem, DeleteItem, and the parts of TransactWriteItems. */
export type WriteInput = Expressed & {
  readonly TableName?: string | undefined;
  readonly Item?: WireItem | undefined;
  readonly Key?: WireItem | undefined;
  readonly ConditionExpression?: string | undefined;
  readonly UpdateExpression?: string | undefined;
  readonly ReturnValues?: string | undefined;
  readonly ReturnValuesOnConditionCheckFailure?: string | undefined;
};

/** GetItem, the parts of TransactGetItems, and of BatchGetItem what it asks of one table. */
export type Projected = Expressed & { readonly ProjectionExpression?: string | undefined };

export type GetInput = Projected & { readonly TableName?: string | undefined };

export type PageInput = GetInput & {
  readonly IndexName?: string | undefined;
  readonly KeyConditionExpression?: string | undefined;
  readonly FilterExpression?: string | undefined;
  readonly ConsistentRead?: boolean | undefined;
  readonly Select?: string | undefined;
  readonly Limit?: number | undefined;
  readonly ExclusiveStartKey?: WireItem | undefined;
};

/** What the rest of the stack answers with; `output` is what the caller gets. */
export type Answer<Output> = { readonly output: Output };

/** Sends an input down the rest of the stack. */
export type Ask<Input, Output> = (input: Input) => Promise<Answer<Output>>;
