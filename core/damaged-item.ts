/** Items with a reserved attribute that Tidemark cannot have written, told of by table and key. */
import { CorruptDataError, type DamagedItem } from "./errors.ts";

/** The error to throw in place of one that does not say which item it is of. */
export function namingItem(error: unknown, item: DamagedItem): unknown {
  if (!(error instanceof CorruptDataError) || error.item !== undefined) return error;
  return new CorruptDataError(
    `${error.message} (table "${item.table}", key ${JSON.stringify(item.key)}): something other ` +
      "than Tidemark wrote it; put the item back as it was, or remove that attribute, while " +
      "no transaction writes it",
    { cause: error, item },
  );
}
