/** What native programs of the demo write down, before and after: whole lines, or none. */
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const entrySchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("sale"), id: z.string(), amount: z.int() }),
  z.object({ kind: z.literal("sold"), id: z.string() }),
  /** There was too little, or it has certainly not happened. */
  z.object({ kind: z.literal("refused"), id: z.string() }),
  z.object({ kind: z.literal("restocked"), id: z.string() }),
]);

export type NativeEntry = z.infer<typeof entrySchema>;

const prefix = "native-";

export class NativeJournal {
  readonly #file: number;

  constructor(
    folder: string,
    { program, life }: { readonly program: number; readonly life: number },
  ) {
    this.#file = openSync(join(folder, `${prefix}${program}-${life}.jsonl`), "a");
  }

  append(entry: NativeEntry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

export function nativeEntries(folder: string): readonly NativeEntry[] {
  const names = readdirSync(folder).filter((name) => name.startsWith(prefix));
  return names.sort().flatMap((name) => {
    // A line that a kill has cut short was never acted upon.
    const lines = readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);
    return lines.map((line) => entrySchema.parse(JSON.parse(line)));
  });
}
