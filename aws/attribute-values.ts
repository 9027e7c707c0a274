/**
 * Between core's items and those of the AWS SDK: the same objects under two types. The SDK's allows
 * mutation and unknown members; neither happens here, since adapters only hand values through.
 */
import type { AttributeValue as SdkValue } from "@aws-sdk/client-dynamodb";
import type { AttributeValue, Item } from "../core/types.ts";

export type SdkItem = Record<string, SdkValue>;

export function toSdkItem(item: Item): SdkItem {
  return item as SdkItem;
}

export function toSdkValue(value: AttributeValue): SdkValue {
  return value as SdkValue;
}

export function fromSdkItem(item: SdkItem): Item {
  return item as Item;
}
