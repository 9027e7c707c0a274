/** What a consumer leaves for people to read beside its position. Pure. */
import type { FeedNotes } from "../../core/feed-port.ts";
import * as limits from "../../core/limits.ts";

const nothing: FeedNotes = {
  ...{ tables: undefined, tablesMore: 0, movedMs: undefined, failures: 0, failure: undefined },
};

/** Of one that takes it over: what became of it stays, what is asked for is his. */
export function notesOf(before: FeedNotes | undefined, tables: readonly string[] | undefined) {
  return { ...(before ?? nothing), ...shortened(tables) };
}

function shortened(
  tables: readonly string[] | undefined,
): Pick<FeedNotes, "tables" | "tablesMore"> {
  const kept: string[] = [];
  let length = 0;
  for (const name of tables ?? []) {
    length += name.length;
    if (kept.length > 0 && length > limits.feedTablesLengthMax) break;
    kept.push(name);
  }
  const tablesMore = (tables?.length ?? 0) - kept.length;
  return { tables: tables === undefined ? undefined : kept, tablesMore };
}

export function withSuccess(notes: FeedNotes): FeedNotes {
  return { ...notes, failures: 0, failingSinceMs: undefined };
}

export function withFailure(notes: FeedNotes, cause: unknown, atMs: number): FeedNotes {
  const failingSinceMs = notes.failures === 0 ? atMs : notes.failingSinceMs;
  const failure = { text: failureText(cause), atMs };
  return { ...notes, failures: notes.failures + 1, failingSinceMs, failure };
}

/** Anything may be thrown. What no item can hold is left out. */
function failureText(cause: unknown): string {
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : typeof cause;
  return text.slice(0, limits.feedFailureLengthMax).replace(/\p{Surrogate}/gu, "\ufffd");
}
