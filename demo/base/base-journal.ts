/** What the processes of `--base` write down, before and after: whole lines, or none. */
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { killPoints, type Role } from "./kill-points.ts";
import { paymentEnds, paymentSchema } from "./payments.ts";

const id = z.string();

const entrySchema = z.discriminatedUnion("kind", [
  /** Before anything is done about it; again in each life that tries it. */
  z.object({ kind: z.literal("payment"), id, way: z.enum(["steps", "once"]), of: paymentSchema }),
  /** In steps: it is accepted, and goes on to its end. */
  z.object({ kind: z.literal("accepted"), id }),
  /** How it has ended, as its caller was told. */
  z.object({ kind: z.literal("ended"), id, end: z.enum(paymentEnds) }),
  /** This try has certainly done nothing. */
  z.object({ kind: z.literal("refused"), id }),
  /** A runner goes on with it. */
  z.object({ kind: z.literal("taken-over"), id }),
  /** The last words of one that was told to die there. */
  z.object({ kind: z.literal("killed"), id, point: z.enum(killPoints) }),
  z.object({ kind: z.literal("audited"), by: z.enum(["acid", "snapshot"]) }),
  z.object({ kind: z.literal("audit-given-up") }),
  z.object({ kind: z.literal("fault"), text: z.string() }),
]);

export type BaseEntry = z.infer<typeof entrySchema>;

/** Which life of which process. */
export type BaseLife = { readonly role: Role; readonly program: number; readonly life: number };

const prefix = "base-";

function fileName({ role, program, life }: BaseLife): string {
  return `${prefix}${role}-${program}-${life.toString().padStart(4, "0")}.jsonl`;
}

export class BaseJournal {
  readonly #file: number;

  constructor(folder: string, life: BaseLife) {
    this.#file = openSync(join(folder, fileName(life)), "a");
  }

  append(entry: BaseEntry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Of all lives of all processes, or of one process. */
export function baseEntries(
  folder: string,
  of?: Pick<BaseLife, "role" | "program">,
): readonly BaseEntry[] {
  const wanted = of === undefined ? prefix : `${prefix}${of.role}-${of.program}-`;
  const names = readdirSync(folder).filter((name) => name.startsWith(wanted));
  return names.sort().flatMap((name) => entriesIn(join(folder, name)));
}

/** The last that one life has written down; undefined: nothing. */
export function lastBaseEntry(folder: string, life: BaseLife): BaseEntry | undefined {
  const name = fileName(life);
  if (!readdirSync(folder).includes(name)) return undefined;
  return entriesIn(join(folder, name)).at(-1);
}

function entriesIn(file: string): readonly BaseEntry[] {
  // A line that a kill has cut short was never acted upon.
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => entrySchema.parse(JSON.parse(line)));
}

type PaymentEntry = Extract<BaseEntry, { kind: "payment" }>;

/** All that is known of one payment from those who made it. */
export type JournaledPayment = Pick<PaymentEntry, "id" | "way" | "of"> & {
  readonly isAccepted: boolean;
  /** As a caller was told; undefined: nobody was. */
  readonly end: Extract<BaseEntry, { kind: "ended" }>["end"] | undefined;
  /** Tries of which nobody knows that they have done nothing. */
  readonly openTries: number;
};

/** @throws Error for a journal that speaks of a payment before it was tried. */
export function paymentsIn(written: readonly BaseEntry[]): readonly JournaledPayment[] {
  const payments = new Map<string, JournaledPayment>();
  const changed = (of: string, change: (known: JournaledPayment) => JournaledPayment): void => {
    const known = payments.get(of);
    if (known === undefined) throw new Error(`a journal speaks of ${of} before it was tried`);
    payments.set(of, change(known));
  };
  for (const entry of written) {
    if (entry.kind === "payment") {
      const { kind: _kind, ...payment } = entry;
      const fresh = { ...payment, isAccepted: false, end: undefined, openTries: 0 };
      const known = payments.get(entry.id) ?? fresh;
      payments.set(entry.id, { ...known, openTries: known.openTries + 1 });
    } else if (entry.kind === "accepted") {
      changed(entry.id, (known) => ({ ...known, isAccepted: true }));
    } else if (entry.kind === "ended") {
      const { end } = entry;
      changed(entry.id, (known) => ({ ...known, end }));
    } else if (entry.kind === "refused") {
      changed(entry.id, (known) => ({ ...known, openTries: known.openTries - 1 }));
    }
  }
  return [...payments.values()];
}
