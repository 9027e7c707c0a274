/** Blocks as the log table keeps them, one an item. */
import type { StoredBlock } from "../core/ports.ts";
import type { Item, LogPosition } from "../core/types.ts";
import { bytesOf, integerOf } from "./stored-attributes.ts";

/** @throws CorruptDataError when the item is none. */
export function storedBlock(item: Item): StoredBlock {
  const stored = { what: "log block", item };
  return {
    position: integerOf(stored, "position") as LogPosition,
    bytes: bytesOf(stored, "block"),
  };
}
