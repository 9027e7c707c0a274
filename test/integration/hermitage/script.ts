/**
 * The language of the Hermitage scripts: who does what, and what that gives at each isolation
 * level. A script is data, so that the tests run it and docs/hermitage.md shows it.
 */
import type { ConflictDetail } from "../../../core/errors.ts";
import type { Rows, Transaction } from "../../../sdk/index.ts";
import { partition, type Session, type TestTable } from "./session.ts";

/**
 * Snapshot isolation differs where a table keeps no history: a read that would need it ends the
 * attempt.
 */
export const levels = ["serializable", "snapshot", "snapshot without history"] as const;
export type Level = (typeof levels)[number];

/**
 * Result of a step: everywhere the same, or by level; without history as with it unless said
 * otherwise.
 */
export type Gives =
  | string
  | {
      readonly serializable: string;
      readonly snapshot: string;
      readonly withoutHistory?: string;
    };

export type Actor = "T1" | "T2" | "T3";

/**
 * How `select` is made of Tidemark's reads: a scan's predicate is the table, a query's the
 * partition.
 */
export type Range = "scan" | "query";

export type Access = { readonly table: TestTable; readonly range: Range };

export type Step =
  | { readonly by: Actor; readonly kind: "begin" }
  | {
      readonly by: Actor;
      readonly kind: "act";
      readonly text: string;
      readonly readsRange: boolean;
      readonly act: (transaction: Transaction, access: Access) => Promise<string>;
      readonly gives: Gives;
    }
  | { readonly by: Actor; readonly kind: "commit" | "roll back"; readonly gives: Gives }
  /** What a transaction afterwards sees. */
  | { readonly by: undefined; readonly kind: "rows"; readonly gives: Gives };

export type Where = { readonly text: string; readonly holds: (value: number) => boolean };

export function where(text: string, holds: Where["holds"]): Where {
  return { text: ` where ${text}`, holds };
}

const everywhere: Where = { text: "", holds: () => true };

/**
 * The result of a step at one level. `""` for a step that gives nothing, such as a buffered write.
 */
export function givesAt(step: Step, level: Level): string {
  if (step.kind === "begin") return "";
  const { gives } = step;
  if (typeof gives === "string") return gives;
  if (level === "serializable") return gives.serializable;
  if (level === "snapshot") return gives.snapshot;
  return gives.withoutHistory ?? gives.snapshot;
}

export function textOf(step: Step): string {
  if (step.kind === "rows") return "afterwards";
  return `${step.by} ${step.kind === "act" ? step.text : step.kind}`;
}

/** A conflict on the predicate of a `select`, whichever read it is made of. */
export const onPredicate = "conflict on the predicate";

export function inRange(result: string, range: Range): string {
  const name = range === "scan" ? "the whole table" : "the queried partition";
  return result.replace("the predicate", name);
}

/** The steps that one transaction takes. */
export function actor(by: Actor) {
  const act = (
    text: string,
    gives: Gives,
    what: Extract<Step, { kind: "act" }>["act"],
    readsRange = false,
  ): Step => ({ by, kind: "act", text, readsRange, gives, act: what });
  return {
    begin: (): Step => ({ by, kind: "begin" }),
    get: (id: number, gives: Gives): Step =>
      act(`get ${id.toString()}`, gives, async (transaction, { table }) => {
        const row = await transaction.get(table, keyOf(id));
        return row === undefined ? "nothing" : row.value.toString();
      }),
    select: (gives: Gives, condition: Where = everywhere): Step =>
      act(`select${condition.text}`, gives, select(condition), true),
    /** A blind write: reads nothing. */
    put: (id: number, value: number): Step =>
      act(`put ${id.toString()} := ${value.toString()}`, "", (transaction, { table }) => {
        transaction.put(table, keyOf(id), { value });
        return Promise.resolve("");
      }),
    /** Reads the row and writes it. */
    update: (id: number, value: number, gives: Gives = ""): Step =>
      act(`update ${id.toString()} := ${value.toString()}`, gives, async (tx, { table }) => {
        await tx.update(table, keyOf(id), { value });
        return "";
      }),
    add: (addend: number, gives: Gives, condition: Where = everywhere): Step =>
      act(
        `add ${addend.toString()}${condition.text}`,
        gives,
        change(condition, (transaction, table, row) => {
          transaction.put(table, keyOf(row.id), { value: row.value + addend });
        }),
        true,
      ),
    delete: (condition: Where, gives: Gives): Step =>
      act(
        `delete${condition.text}`,
        gives,
        change(condition, (transaction, table, row) => transaction.delete(table, keyOf(row.id))),
        true,
      ),
    commit: (gives: Gives = "committed"): Step => ({ by, kind: "commit", gives }),
    rollBack: (): Step => ({ by, kind: "roll back", gives: "rolled back" }),
  };
}

export function afterwards(gives: Gives): Step {
  return { by: undefined, kind: "rows", gives };
}

export function keyOf(id: number): { readonly suite: string; readonly id: number } {
  return { suite: partition, id };
}

type StoredRow = { readonly id: number; readonly value: number };

function rowsIn(
  reader: Pick<Transaction, "query" | "scan">,
  { table, range }: Access,
  { holds }: Where,
): Rows<StoredRow> {
  const filter = ({ value }: StoredRow): boolean => holds(value);
  return range === "scan"
    ? reader.scan(table, { filter })
    : reader.query(table, { where: { suite: partition }, filter });
}

function select(condition: Where) {
  return async (reader: Pick<Transaction, "query" | "scan">, access: Access): Promise<string> =>
    listed(await rowsIn(reader, access, condition).all());
}

/** Reads what the condition selects and does something with each row; gives the ids. */
function change(
  condition: Where,
  each: (transaction: Transaction, table: TestTable, row: StoredRow) => void,
) {
  return async (transaction: Transaction, access: Access): Promise<string> => {
    const rows = await rowsIn(transaction, access, condition).all();
    for (const row of rows) each(transaction, access.table, row);
    return `rows ${ids(rows)}`;
  };
}

function ids(rows: readonly StoredRow[]): string {
  return rows.length === 0
    ? "none"
    : sorted(rows)
        .map(({ id }) => id.toString())
        .join(", ");
}

function listed(rows: readonly StoredRow[]): string {
  if (rows.length === 0) return "nothing";
  return sorted(rows)
    .map(({ id, value }) => `${id.toString()} → ${value.toString()}`)
    .join(", ");
}

function sorted(rows: readonly StoredRow[]): StoredRow[] {
  return [...rows].sort((a, b) => a.id - b.id);
}

/** What runs a script: a table in its first state, and a client of its own for each transaction. */
export type Stage = Access & {
  begin(by: Actor): Promise<Session>;
  /** What the transaction's process does before it commits. */
  beforeCommit(by: Actor): Promise<void>;
  /** The table as a later transaction sees it. */
  look(read: (reader: Pick<Transaction, "query" | "scan">) => Promise<string>): Promise<string>;
};

export type Played = {
  readonly gave: readonly string[];
  /** Who refused the commits of transactions that had met no conflict before. */
  readonly refusedBy: readonly NonNullable<ConflictDetail["foundBy"]>[];
};

/** Runs the steps in their order, each to its end, and says what each of them gave. */
export async function play(steps: readonly Step[], stage: Stage): Promise<Played> {
  const sessions = new Map<Actor, Session>();
  const sessionOf = (by: Actor): Session => {
    const session = sessions.get(by);
    if (session === undefined) throw new Error(`${by} has not begun`);
    return session;
  };
  const gave: string[] = [];
  for (const step of steps) {
    switch (step.kind) {
      case "begin":
        sessions.set(step.by, await stage.begin(step.by));
        gave.push("");
        break;
      case "act":
        gave.push(await sessionOf(step.by).do((tx) => step.act(tx, stage)));
        break;
      case "commit":
        await stage.beforeCommit(step.by);
        gave.push(await sessionOf(step.by).commit());
        break;
      case "roll back":
        gave.push(await sessionOf(step.by).rollBack());
        break;
      case "rows":
        gave.push(await stage.look((reader) => select(everywhere)(reader, stage)));
        break;
    }
  }
  const refusedBy = [...sessions.values()].flatMap((session) => session.refusedBy ?? []);
  return { gave, refusedBy };
}
