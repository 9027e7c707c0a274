/** Entries of a queue in the control table, of which one that is damaged holds up no other. */
import { CorruptDataError } from "../core/errors.ts";
import type { QueueOptions } from "../core/store-calls.ts";

/** What `decode` makes of each, but for the damaged ones. @throws CorruptDataError untold. */
export function readableOf<Stored, Entry>(
  all: Iterable<Stored>,
  decode: (stored: Stored) => Entry,
  { onDamaged }: QueueOptions = {},
): readonly Entry[] {
  const entries: Entry[] = [];
  for (const stored of all) {
    try {
      entries.push(decode(stored));
    } catch (error) {
      if (onDamaged === undefined || !(error instanceof CorruptDataError)) throw error;
      onDamaged(error);
    }
  }
  return entries;
}
