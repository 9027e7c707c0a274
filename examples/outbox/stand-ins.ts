/** A search index and a mail service in memory, for the example and its test. */
import type { Letter, MailService, Outside, SearchIndex } from "./outbox.ts";

export type StandIns = Outside & {
  readonly letters: readonly Letter[];
  /** Ids of the documents that have the word. */
  find(word: string): readonly string[];
};

export function standIns(): StandIns {
  const documents = new Map<string, readonly string[]>();
  const sent = new Set<string>();
  const letters: Letter[] = [];
  const index: SearchIndex = {
    put: (id, words) => {
      documents.set(id, words);
      return Promise.resolve();
    },
    remove: (id) => {
      documents.delete(id);
      return Promise.resolve();
    },
  };
  const mail: MailService = {
    send: (name, letter) => {
      // As mail services do with an idempotency key.
      if (!sent.has(name)) letters.push(letter);
      sent.add(name);
      return Promise.resolve();
    },
  };
  const find = (word: string): string[] =>
    [...documents].filter(([, words]) => words.includes(word)).map(([id]) => id);
  return { index, mail, letters, find };
}
