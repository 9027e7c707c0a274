/**
 * What a client was told, written down before it goes on: the audit's other side. One file per life
 * of a client. A line is handed to the operating system before `append` returns, which is as
 * durable as a kill -9 of the process can put to the test.
 */
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Operation, operationSchema } from "./operations.ts";

const entrySchema = z.discriminatedUnion("kind", [
  /** Before anything is done about it. */
  z.object({ kind: z.literal("intent"), operation: operationSchema }),
  /** Before a commit request leaves; one operation may send several, each under its own id. */
  z.object({ kind: z.literal("sent"), id: z.string(), transactionId: z.string() }),
  /** The last words of a client that dies between the decision and its first install. */
  z.object({ kind: z.literal("certified"), id: z.string(), transactionId: z.string() }),
  z.object({
    kind: z.literal("acknowledged"),
    id: z.string(),
    transactionId: z.string(),
    commitTimestamp: z.int(),
    done: z.boolean(),
  }),
  /** An error that says: nothing was written. */
  z.object({ kind: z.literal("aborted"), id: z.string(), code: z.string() }),
  z.object({ kind: z.literal("unknown"), id: z.string() }),
]);

export type JournalEntry = z.infer<typeof entrySchema>;

/** Which life of which client; a client that was killed begins its next one. */
export type Life = { readonly client: number; readonly life: number };

const fileName = ({ client, life }: Life): string =>
  `client-${client.toString().padStart(3, "0")}-life-${life.toString().padStart(4, "0")}.jsonl`;

export class Journal {
  readonly #file: number;

  constructor(folder: string, life: Life) {
    this.#file = openSync(join(folder, fileName(life)), "ax");
  }

  append(entry: JournalEntry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

export type Acknowledgement = Pick<
  Extract<JournalEntry, { kind: "acknowledged" }>,
  "transactionId" | "commitTimestamp" | "done"
>;

/** Everything that the journals say of one operation. */
export type JournaledOperation = {
  readonly operation: Operation;
  /** Of every request sent for it, in all lives. */
  readonly transactionIds: readonly string[];
  /** Of those the one that its client knew to be committed, and died before installing. */
  readonly certifiedId: string | undefined;
  readonly acknowledged: Acknowledgement | undefined;
  /** Its client learned for certain that nothing was written: in the only life that tried it. */
  readonly aborted: boolean;
};

type Draft = {
  operation: Operation;
  transactionIds: string[];
  certifiedId: string | undefined;
  acknowledged: Acknowledgement | undefined;
  /** Lives that tried it and did not learn that nothing was written. */
  openLives: number;
};

/**
 * @param client only this one's journals; all by default.
 * @throws Error for a journal that breaks off anywhere but at its end, or contradicts itself.
 */
export function readJournals(folder: string, client?: number): JournaledOperation[] {
  const operations = new Map<string, Draft>();
  const prefix = client === undefined ? "client-" : fileName({ client, life: 0 }).slice(0, 10);
  const names = readdirSync(folder).filter((name) => name.startsWith(prefix));
  for (const name of names.sort()) {
    for (const entry of entriesOf(readFileSync(join(folder, name), "utf8"))) {
      fold(operations, entry);
    }
  }
  return [...operations.values()].map(({ openLives, ...operation }) => ({
    ...operation,
    aborted: openLives === 0 && operation.acknowledged === undefined,
  }));
}

/** The last thing that one life of a client wrote down. */
export function lastEntry(folder: string, life: Life): JournalEntry | undefined {
  return entriesOf(readFileSync(join(folder, fileName(life)), "utf8")).at(-1);
}

function entriesOf(text: string): JournalEntry[] {
  // After the last line break stands nothing, or a line that a kill has cut short: it was never
  // acted upon.
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => entrySchema.parse(JSON.parse(line)));
}

function fold(operations: Map<string, Draft>, entry: JournalEntry): void {
  if (entry.kind === "intent") {
    const { operation } = entry;
    const known = operations.get(operation.id);
    if (known === undefined) {
      operations.set(operation.id, {
        operation,
        transactionIds: [],
        certifiedId: undefined,
        acknowledged: undefined,
        openLives: 1,
      });
    } else known.openLives += 1;
    return;
  }
  const draft = operations.get(entry.id);
  if (draft === undefined) throw new Error(`a journal speaks of ${entry.id} without its intent`);
  switch (entry.kind) {
    case "sent":
      if (!draft.transactionIds.includes(entry.transactionId)) {
        draft.transactionIds.push(entry.transactionId);
      }
      return;
    case "certified":
      draft.certifiedId = entry.transactionId;
      return;
    case "acknowledged": {
      const { transactionId, commitTimestamp, done } = entry;
      draft.acknowledged = { transactionId, commitTimestamp, done };
      return;
    }
    case "aborted":
      draft.openLives -= 1;
      return;
    case "unknown":
      return;
  }
}
