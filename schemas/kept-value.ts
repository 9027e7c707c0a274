/**
 * Inputs and results as they are kept for whoever asks again (sdk/result-codec.ts): a value in a
 * map, which is empty where there is none; and in it numbers that are no JavaScript numbers, each
 * in a map of its own.
 */
import type { AttributeValue } from "../core/types.ts";

/** A map with this one attribute stands for a number that is not a JavaScript number. */
export const numberTag = "$number";

export function keptValue(value: AttributeValue | undefined): AttributeValue {
  return { M: value === undefined ? {} : { value } };
}

/** What was kept, numbers as any others. Undefined: nothing was. */
export function valueOfKept(kept: AttributeValue): AttributeValue | undefined {
  const value = "M" in kept ? kept.M["value"] : undefined;
  return value && plainNumbers(value);
}

function plainNumbers(value: AttributeValue): AttributeValue {
  if ("L" in value) return { L: value.L.map(plainNumbers) };
  if (!("M" in value)) return value;
  const tagged = value.M[numberTag];
  if (tagged !== undefined && "N" in tagged) return tagged;
  const members = Object.entries(value.M).map(([name, member]) => [name, plainNumbers(member)]);
  return { M: Object.fromEntries(members) as Readonly<Record<string, AttributeValue>> };
}
