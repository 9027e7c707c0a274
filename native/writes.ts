/**
 * Native writes of mixed tables as aware ones (docs/adr/0014-native-operations.md, Aware native
 * writes): what puts or adds something gets a nonce, and what depends on the old state goes only
 * where no fence stands. Pure: inputs to inputs.
 */
import type { KeyNames } from "../core/attributes.ts";
import { nonceAttribute } from "../core/attributes.ts";
import type { WriteKind } from "../expressions/write-kinds.ts";
import { addsSomething, guarded } from "./expressions.ts";
import { refuseLegacy, refuseReserved, refuseReservedUpdate } from "./refused.ts";
import type { WireItem, WriteInput } from "./wire.ts";

/** @throws InvalidRequestError for what cannot be used on mixed tables. */
export function awareWrite<Input extends WriteInput>(
  kind: WriteKind,
  input: Input,
  {
    table,
    nonce,
    always = false,
  }: {
    readonly table: KeyNames;
    readonly nonce: () => Uint8Array;
    /** Whether it depends on the old state, whatever it asks. */
    readonly always?: boolean;
  },
): Input {
  refuseLegacy(input, table.name);
  refuseReservedUpdate(input, table.name);
  const isGuarded = always || kind === "update" || dependsOnOld(input);
  const set = kind === "update" && addsSomething(input) ? nonce() : undefined;
  const aware = isGuarded ? guarded(input, set) : input;
  if (kind !== "put" || aware.Item === undefined) return aware;
  return { ...aware, Item: withNonce(aware.Item, table, nonce()) };
}

export function withNonce(item: WireItem, { name }: KeyNames, nonce: Uint8Array): WireItem {
  refuseReserved(item, name);
  return { ...item, [nonceAttribute]: { B: nonce } };
}

function dependsOnOld({ ConditionExpression, ReturnValues = "NONE" }: WriteInput): boolean {
  return ConditionExpression !== undefined || ReturnValues !== "NONE";
}

/** The item's key, also of a put. */
export function keyIn({ Key, Item }: WriteInput, table: KeyNames): WireItem {
  const from = Key ?? Item ?? {};
  const names = [table.partitionKey, ...(table.sortKey === undefined ? [] : [table.sortKey])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = from[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
