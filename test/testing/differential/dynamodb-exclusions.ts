/**
 * Where an emulator is known to differ from the documented service, and the model follows the
 * documentation: one table, with a reason for each line. Also calls that are not made, because
 * dynalite ends at them.
 */
import type { Call } from "./dynamodb-calls.ts";
import type { Answer } from "./dynamodb-comparison.ts";

export type Compared = {
  readonly call: Call;
  readonly real: Answer;
  readonly model: Answer;
  readonly emulator: "dynalite" | "DynamoDB Local";
};

export type Exclusion = {
  readonly name: string;
  readonly emulator: Compared["emulator"];
  readonly reason: string;
  readonly applies: (compared: Compared) => boolean;
};

const validation = "ValidationException";
const conditionFailed = "ConditionalCheckFailedException";
const cancelled = "TransactionCanceledException";

function inputOf(call: Call): Record<string, unknown> {
  return call.input as unknown as Record<string, unknown>;
}

/** Whether both did it, and all else in their answers is the same. */
function differOnly({ real, model }: Compared, ...members: readonly string[]): boolean {
  const without = ({ output }: Answer): string =>
    JSON.stringify(
      Object.entries(output as object)
        .filter(([name]) => !members.includes(name))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  return real.error === undefined && model.error === undefined && without(real) === without(model);
}

const lackedByDynalite = new RegExp(
  [
    "Cannot specify the ProjectionExpression",
    "Key attributes must be scalars",
    "Incorrect operand type",
    "does not project",
    "secondary index key",
    "Consistent reads are not supported",
    "must be distinct",
    "not allowed to be used this way",
    "Syntax error",
    "Type mismatch for Index Key",
  ].join("|"),
);

function unitsOf({ output }: Answer): number {
  const { ConsumedCapacity } = output as { ConsumedCapacity?: { CapacityUnits?: number } };
  return ConsumedCapacity?.CapacityUnits ?? 0;
}

function expressionsOf(call: Call): readonly string[] {
  const { ConditionExpression = "", FilterExpression = "" } = inputOf(call) as {
    ConditionExpression?: string;
    FilterExpression?: string;
  };
  return [ConditionExpression, FilterExpression];
}

const exclusions: readonly Exclusion[] = [
  {
    name: "capacity that nobody asked for",
    emulator: "DynamoDB Local",
    reason: "DeleteItem reports ConsumedCapacity without ReturnConsumedCapacity",
    applies: (compared) =>
      compared.call.operation === "DeleteItem" &&
      !["TOTAL", "INDEXES"].includes(String(compared.call.input.ReturnConsumedCapacity)) &&
      differOnly(compared, "ConsumedCapacity"),
  },
  {
    name: "an update of a transaction that cannot be applied",
    emulator: "DynamoDB Local",
    reason:
      "documented as a reason of TransactionCanceledException; the emulator answers " +
      "ValidationException",
    applies: ({ call, real, model }) =>
      call.operation === "TransactWriteItems" &&
      real.error === validation &&
      model.error === cancelled &&
      model.reasons?.includes("ValidationError") === true,
  },
  {
    name: "what is wrong with the update's paths, and a condition that fails",
    emulator: "DynamoDB Local",
    reason: "the service checks paths that concern keys before it looks at the item",
    applies: ({ call, real, model }) =>
      call.operation === "UpdateItem" &&
      real.error === conditionFailed &&
      model.error === validation &&
      /part of the key|Key attributes must be scalars/.test(model.message),
  },
  {
    name: "the order of checks in a transaction",
    emulator: "DynamoDB Local",
    reason: "paths that concern keys are checked before any item is looked at, in single calls too",
    applies: ({ call, real, model }) =>
      call.operation === "TransactWriteItems" &&
      real.error !== validation &&
      model.error === validation &&
      /Key attributes must be scalars/.test(model.message),
  },
  {
    name: "reasons of a transaction with a key that does not fit",
    emulator: "DynamoDB Local",
    reason: "documented: a reason for each item; the emulator gives one or none",
    applies: ({ real, model }) =>
      real.error === cancelled &&
      (model.error === cancelled
        ? model.reasons?.includes("ValidationError") === true
        : /Invalid attribute value type|empty (?:string|binary) value/.test(model.message)),
  },
  {
    name: "one item twice in a transaction",
    emulator: "DynamoDB Local",
    reason: "documented as refused; the emulator compares whole items of Put with keys of others",
    applies: ({ call, model }) =>
      call.operation === "TransactWriteItems" &&
      model.error === validation &&
      /multiple operations on one item/.test(model.message),
  },
  {
    name: "a key of an index is updated to another type",
    emulator: "DynamoDB Local",
    reason: "documented as refused",
    applies: ({ call, real, model }) =>
      real.error === undefined &&
      (call.operation === "UpdateItem"
        ? /Type mismatch for Index Key/.test(model.message)
        : call.operation === "TransactWriteItems" &&
          model.reasons?.includes("ValidationError") === true),
  },
  {
    name: "what UPDATED_OLD and UPDATED_NEW return of nested paths",
    emulator: "DynamoDB Local",
    reason:
      "the service and dynalite return the path that was updated, the emulator its whole attribute",
    applies: (compared) =>
      compared.call.operation === "UpdateItem" &&
      /^UPDATED_/.test(compared.call.input.ReturnValues ?? "") &&
      /[.[]/.test(compared.call.input.UpdateExpression ?? "") &&
      differOnly(compared, "Attributes"),
  },
  {
    name: "UPDATED_NEW without an update",
    emulator: "DynamoDB Local",
    reason: "the emulator fails with an internal error, after its effect",
    applies: ({ call, real }) =>
      call.operation === "UpdateItem" && real.error === "InternalFailure",
  },
  {
    name: "a scan's filter on what a global index lacks",
    emulator: "DynamoDB Local",
    reason: "documented: a global index has what is projected into it, nothing is fetched",
    applies: ({ call, real, model }) =>
      call.operation === "Scan" &&
      call.input.IndexName === "global" &&
      call.input.FilterExpression !== undefined &&
      real.error === undefined &&
      model.error === undefined,
  },
  {
    name: "capacity of an item that is in no index",
    emulator: "DynamoDB Local",
    reason: "documented: an item without the whole key of an index is not written there",
    applies: (compared) =>
      compared.call.table === "indexed" &&
      differOnly(compared, "ConsumedCapacity") &&
      unitsOf(compared.real) > unitsOf(compared.model),
  },
  {
    name: "a start key at the end of its range",
    emulator: "DynamoDB Local",
    reason: "it lies in the range, so the next page is empty; the emulator refuses it",
    applies: ({ call, real, model }) =>
      call.operation === "Query" &&
      call.input.ExclusiveStartKey !== undefined &&
      model.error === undefined &&
      /starting key does not match the range key predicate/.test(real.message) &&
      (model.output as { ScannedCount?: number }).ScannedCount === 0,
  },
  {
    name: "capacity of index entries",
    emulator: "dynalite",
    reason: "documented; dynalite counts the table only, and rounds sizes in its own way",
    applies: (compared) => differOnly(compared, "ConsumedCapacity"),
  },
  {
    name: "the type of an operand of an update of an index key",
    emulator: "dynalite",
    reason: "DynamoDB Local looks at the condition first, and then at what becomes of the item",
    applies: ({ real, model }) =>
      real.error === validation &&
      model.error !== validation &&
      /Type mismatch for Index Key/.test(real.message),
  },
  {
    name: "ReturnValuesOnConditionCheckFailure",
    emulator: "dynalite",
    reason: "not implemented there",
    applies: ({ real, model }) =>
      real.error === conditionFailed &&
      model.error === conditionFailed &&
      real.output === undefined,
  },
  {
    name: "the order of texts",
    emulator: "dynalite",
    reason: "documented: by the bytes of UTF-8; in conditions dynalite compares units of UTF-16",
    applies: ({ call }) =>
      /[<>]|BETWEEN/.test(expressionsOf(call).join()) &&
      /[\u{1F600}\uFFFD]/u.test(JSON.stringify(call.input)),
  },
  {
    name: "an operand of if_not_exists that is not there and not needed",
    emulator: "dynalite",
    reason: "refused by DynamoDB Local; the documentation does not say",
    applies: ({ call, real, model }) =>
      call.operation === "UpdateItem" &&
      real.error === undefined &&
      /attribute that does not exist in the item/.test(model.message) &&
      /if_not_exists/.test(call.input.UpdateExpression ?? ""),
  },
  {
    name: "a sum of more than 38 digits",
    emulator: "dynalite",
    reason: "documented as refused, and refused by DynamoDB Local",
    applies: ({ real, model }) =>
      real.error !== validation && /38 significant digits/.test(model.message),
  },
  {
    name: "attributes that a local index lacks",
    emulator: "dynalite",
    reason: "documented: they are fetched from the table; dynalite does so for ALL_ATTRIBUTES only",
    applies: ({ call, real, model }) =>
      (call.operation === "Query" || call.operation === "Scan") &&
      call.input.IndexName === "local" &&
      (call.input.ProjectionExpression ?? call.input.FilterExpression) !== undefined &&
      real.error === undefined &&
      model.error === undefined,
  },
  {
    name: "no attributes to return",
    emulator: "dynalite",
    reason: "the service leaves Attributes out where there is nothing in it",
    applies: (compared) =>
      differOnly(compared, "Attributes", "ConsumedCapacity") &&
      (compared.real.output as { Attributes?: unknown }).Attributes === "[]",
  },
  {
    name: "a check that dynalite lacks",
    emulator: "dynalite",
    reason: "DynamoDB Local has it, in the same words",
    applies: ({ real, model }) =>
      model.error === validation &&
      real.error !== validation &&
      lackedByDynalite.test(model.message),
  },
  {
    name: "a number with a plus sign",
    emulator: "dynalite",
    reason: "DynamoDB Local takes it",
    applies: ({ real }) => /numeric value: \+/.test(real.message),
  },
];

/** Why two answers that differ may do so; undefined where they must not. */
export function exclusionOf(compared: Compared): Exclusion | undefined {
  return exclusions.find(
    ({ emulator, applies }) => emulator === compared.emulator && applies(compared),
  );
}

/**
 * Conditions that compare with anything but a given value end dynalite's process, or hold, where
 * the other side is missing; and it knows no double negation. Such calls are left to DynamoDB
 * Local.
 */
export function isBeyondDynalite(call: Call): boolean {
  return expressionsOf(call).some(
    (text) =>
      / IN \((?!:v\d+(?:, :v\d+)*\))/.test(text) ||
      / BETWEEN (?!:v\d+ AND :v\d+)/.test(text) ||
      /(?:begins_with|contains)\((?![^()]*, :v\d+\))/.test(text) ||
      /(?:<>|<=|>=|=|<|>)\s*(?![=>:\s])/.test(text) ||
      /NOT \(?NOT/i.test(text),
  );
}
