/**
 * What is refused on mixed tables, by name: legacy parameters, which exclude expressions and so the
 * fence's condition; writes in PartiQL, which know no condition that is added; Tidemark's own
 * attributes in an application's items; and writes while a table is on its way there or back.
 */
import { isReserved, reservedAttributes } from "../core/attributes.ts";
import { InvalidRequestError, UnavailableError } from "../core/errors.ts";
import type { NativeTable } from "../core/native-support.ts";
import { legacyParameter } from "../expressions/legacy-parameters.ts";
import { nameOf } from "./projection.ts";
import type { WireItem, WriteInput } from "./wire.ts";

/** @throws InvalidRequestError naming the parameter. */
export function refuseLegacy(input: object, table: string): void {
  const used = legacyParameter(input);
  if (used === undefined) return;
  throw new InvalidRequestError(
    used,
    `${used} is a legacy parameter of DynamoDB's, and cannot be used on the mixed table ` +
      `"${table}": use expressions instead`,
  );
}

/** @throws InvalidRequestError naming the attribute. */
export function refuseReserved(item: WireItem, table: string): void {
  const own = reservedAttributes.find((name) => Object.hasOwn(item, name));
  if (own === undefined) return;
  throw new InvalidRequestError(
    "Item",
    `an item for the mixed table "${table}" has the attribute "${own}", a name that Tidemark ` +
      "keeps for itself",
  );
}

/**
 * Of an update: no expression can name such an attribute but by an alias.
 * @throws InvalidRequestError naming the attribute.
 */
export function refuseReservedUpdate(input: WriteInput, table: string): void {
  const { UpdateExpression: update = "", ExpressionAttributeNames: names = {} } = input;
  for (const alias of update.match(/#\w+/gu) ?? []) {
    const name = nameOf(alias, names);
    if (!isReserved(name)) continue;
    throw new InvalidRequestError(
      "UpdateExpression",
      `an update of the mixed table "${table}" names the attribute "${name}" as "${alias}", a ` +
        "name that Tidemark keeps for itself",
    );
  }
}

/**
 * Transactions that know of no native writes, or do not know of them any more, may yet be on their
 * way to it (core/table-access.ts).
 * @throws UnavailableError naming the table, how far it is, and what goes on.
 */
export function refuseOnItsWay({ name, move }: NativeTable): void {
  if (move === undefined) return;
  throw new UnavailableError(
    `table "${name}" is on its way to ${move.to} (${move.stage}) and takes no native writes; ` +
      `\`npx tidemark move ${name} --access ${move.to}\` goes on, and says how far it is`,
  );
}

/** @throws InvalidRequestError */
export function refuseStatement(verb: string, table: string): never {
  throw new InvalidRequestError(
    "Statement",
    `${verb.toUpperCase().replaceAll(/\s+/gu, " ")} of PartiQL cannot be used on the mixed table ` +
      `"${table}": use PutItem, UpdateItem, DeleteItem or TransactWriteItems instead`,
  );
}
