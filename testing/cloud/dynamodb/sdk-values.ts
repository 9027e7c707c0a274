/**
 * Between the AWS SDK's values and those of core: the same objects under two types. Stored items
 * are never changed, so what goes out may share structure with the store.
 */
import type { AttributeValue as SdkValue } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../core/types.ts";

export type SdkItem = Record<string, SdkValue>;

export function toSdkItem(item: Item): SdkItem {
  return item as SdkItem;
}
