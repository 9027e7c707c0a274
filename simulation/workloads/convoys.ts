/**
 * Many transactions of each process at the same few items, so that they read from one another
 * before anything is committed, while other processes write there, too. The rows of a convoy are
 * written together: they tell the same number wherever they are seen, also in bodies that can never
 * commit (I8), and a note beside them is there exactly while it is odd. What is let out, as a
 * result or by a body's own error, has been committed.
 */
import { defineTable, TransactionError } from "../../sdk/index.ts";
import { gridOf } from "./grid.ts";
import { numbered } from "./key-spaces.ts";
import {
  WorkloadFinding,
  type StepContext,
  type Transaction,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "./workload.ts";

type Row = { readonly n: number; readonly by: string };
type RowKey = { readonly convoy: string; readonly part: string };
const rows = defineTable<Row, RowKey, "convoy">("convoys", { key: ["convoy", "part"] });

const parts = ["left", "right", "note"] as const;
type Part = (typeof parts)[number];
type Found = { readonly part: Part; readonly row: Row | undefined };

/** How often a step is at the convoy that most steps of its process are at. */
const homeShare = 0.75;
const serializableShare = 0.7;
/** Of looks: at all rows of a convoy at once; of these, by a scan; with a read by key beside it. */
const queryShare = 0.5;
const scanShare = 0.3;
const besideShare = 0.6;
/** About as long as calls take. */
const besideMsMax = 30;
/**
 * Of bodies that read by key: how many read all at once. Those that begin later find what the
 * process has sent meanwhile, while the first still wait for installs.
 */
const togetherShare = 0.4;
const failShare = 0.15;
/** Long enough for others to be sealed behind one another, and for all of them to be committed. */
const lingerShare = 0.35;
const lingerMsMax = 1_500;

/**
 * Some callers give up while others of their group go on, and ask what has become of it
 * (paced-engine.ts).
 */
const hastyShare = 0.1;
const hastyMsMin = 20;
const hastyMsMax = 2_000;

type Act = "advance" | "advance by one" | "look" | "copy";
const acts: readonly Act[] = ["advance", "advance", "advance by one", "look", "copy"];

/** Thrown by bodies; what it carries has left its transaction. */
class LetOut extends Error {
  override readonly name = "LetOut";
  readonly by: readonly string[];
  constructor(by: readonly string[]) {
    super("as wished");
    this.by = by;
  }
}

export const convoys: WorkloadFactory = (settings) => new Convoys(settings);

class Convoys implements Workload {
  readonly tables: Workload["tables"];
  readonly universe: NonNullable<Workload["universe"]>;
  readonly #names: readonly string[];
  /** Attempts that are known not to have committed. */
  readonly #aborted = new Set<string>();
  /** By attempt: who saw its writes and said so. */
  readonly #letOut = new Map<string, string>();
  /** Of bodies, whatever became of them. */
  readonly #complaints: string[] = [];
  /** Advances that were acknowledged, and those that may have happened. */
  readonly #counts = new Map<string, { acknowledged: number; open: number }>();

  constructor({ keys, history }: Pick<WorkloadSettings, "keys" | "history">) {
    this.#names = numbered("convoy", Math.ceil(keys / 3));
    for (const name of this.#names) this.#counts.set(name, { acknowledged: 0, open: 0 });
    const grid = gridOf(rows, { partitions: this.#names, places: parts, history });
    this.tables = [grid.table];
    this.universe = grid.universe;
  }

  async setUp(client: StepContext["client"]): Promise<void> {
    await client.transact(async (tx) => {
      for (const convoy of this.#names) this.#leave(tx, convoy, { n: 0, by: "setup" });
      return Promise.resolve();
    });
  }

  async step(context: StepContext): Promise<void> {
    const { client, random, unique } = context;
    const convoy = random.chance(homeShare) ? this.#homeOf(unique) : random.pick(this.#names);
    const act = random.pick(acts);
    const isolation = random.chance(serializableShare) ? "serializable" : context.isolation;
    const fails = random.chance(failShare);
    const run = { ...context, convoy, act, fails, other: random.pick(this.#names) };
    const writes = act !== "look" && !fails;
    const haste = random.chance(hastyShare)
      ? { deadlineMs: Math.ceil(random.logarithmic(hastyMsMin, hastyMsMax)) }
      : {};
    const count = this.#counts.get(convoy) ?? { acknowledged: 0, open: 0 };
    let attempts = 0;
    // Counted beforehand, since a process that dies cannot count any more.
    if (writes) count.open += 1;
    try {
      const { result } = await client.transact({ isolation, ...haste }, (tx) => {
        if (attempts > 0) this.#aborted.add(attemptName(unique, attempts));
        attempts = tx.attempt;
        return this.#body(tx, run);
      });
      this.#noteLetOut(result, unique);
      if (writes) count.acknowledged += 1;
    } catch (error) {
      if (error instanceof LetOut) {
        this.#noteLetOut(error.by, unique);
        return;
      }
      if (!isAborted(error)) throw error;
      this.#aborted.add(attemptName(unique, attempts));
      if (writes) count.open -= 1;
      throw error;
    }
    if (writes) count.open -= 1;
  }

  #noteLetOut(by: readonly string[], who: string): void {
    for (const attempt of by) this.#letOut.set(attempt, who);
  }

  /** Lanes of a process have the same home, and so have some other processes. */
  #homeOf(unique: string): string {
    const [process = ""] = unique.split("/");
    const number = Number(process.replace(/\D/gu, ""));
    return this.#names[number % this.#names.length] ?? "";
  }

  /** Who wrote what it has seen. */
  async #body(tx: Transaction, run: Run): Promise<readonly string[]> {
    const { convoy, other, act, random, unique, pause } = run;
    const seen: Found[] = [];
    const linger = async (): Promise<void> => {
      if (random.chance(lingerShare)) await pause(random.logarithmic(1, lingerMsMax));
    };
    if (act === "look" && random.chance(queryShare)) {
      seen.push(...(await this.#lookAtAll(tx, run)));
    } else {
      const wanted = random.chance(0.5) ? partsOf(act) : partsOf(act).toReversed();
      if (random.chance(togetherShare)) seen.push(...(await readTogether(tx, run, wanted)));
      else
        for (const part of wanted) {
          seen.push({ part, row: await tx.get(rows, { convoy, part }) });
          this.#check(convoy, seen);
          await linger();
        }
    }
    this.#check(convoy, seen);
    if (act === "copy" && other !== convoy) {
      const left = await tx.get(rows, { convoy: other, part: "left" });
      this.#check(other, [{ part: "left", row: left }]);
    }
    const by = seen.flatMap(({ row }) => (row === undefined ? [] : [row.by]));
    if (run.fails) throw new LetOut(by);
    if (act === "look") return by;
    const n = (seen.find(({ part }) => part !== "note")?.row?.n ?? 0) + 1;
    this.#leave(tx, convoy, { n, by: attemptName(unique, tx.attempt) });
    return by;
  }

  /** By a query or a scan, some with a read by key beside it, which may come first or last. */
  async #lookAtAll(tx: Transaction, { convoy, random, pause }: Run): Promise<readonly Found[]> {
    const isScan = random.chance(scanShare);
    const all = isScan ? tx.scan(rows).all() : tx.query(rows, { where: { convoy } }).all();
    if (!random.chance(besideShare)) return foundIn(await all, convoy);
    const get = async (): Promise<Found> => {
      await pause(random.logarithmic(0.1, besideMsMax));
      const part = random.pick(parts);
      return { part, row: await tx.get(rows, { convoy, part }) };
    };
    const [found, beside] = await Promise.all([all, get()]);
    return [...foundIn(found, convoy), beside];
  }

  #leave(tx: Transaction, convoy: string, row: Row): void {
    for (const part of ["left", "right"]) tx.put(rows, { convoy, part, ...row });
    if (row.n % 2 === 1) tx.put(rows, { convoy, part: "note", ...row });
    else tx.delete(rows, { convoy, part: "note" });
  }

  /**
   * Noted aside: an error of a body that is bound to fail is not heard, and it has been let see
   * what cannot be all the same.
   */
  #check(convoy: string, seen: readonly Found[]): void {
    const complaint = complaintOf(convoy, seen);
    if (complaint === undefined) return;
    this.#complaints.push(complaint);
    throw new WorkloadFinding(complaint);
  }

  async judge(client: StepContext["client"]): Promise<readonly string[]> {
    const all = await client.snapshot((snapshot) => snapshot.scan(rows).all());
    const ends = this.#names.flatMap((convoy) => {
      const seen = parts.map((part) => ({
        part,
        row: all.find((row) => row.convoy === convoy && row.part === part),
      }));
      const n = seen[0]?.row?.n ?? -1;
      const { acknowledged, open } = this.#counts.get(convoy) ?? { acknowledged: 0, open: 0 };
      const complaint = complaintOf(convoy, seen);
      return [
        ...(complaint === undefined ? [] : [complaint]),
        ...(n >= acknowledged && n <= acknowledged + open
          ? []
          : [
              `${convoy} is at ${n.toString()}; ${acknowledged.toString()} advances were ` +
                "acknowledged, " +
                `${open.toString()} more may have been`,
            ]),
      ];
    });
    const early = [...this.#letOut].flatMap(([by, who]) =>
      this.#aborted.has(by) ? [`${who} let out what ${by} wrote, which was never committed`] : [],
    );
    return [...this.#complaints, ...ends, ...early];
  }
}

type Run = StepContext & {
  readonly convoy: string;
  readonly other: string;
  readonly act: Act;
  /** Whether the body ends with an error of its own. */
  readonly fails: boolean;
};

/** Each begins at a moment of its own. */
function readTogether(
  tx: Transaction,
  { convoy, random, pause }: Run,
  wanted: readonly Part[],
): Promise<readonly Found[]> {
  return Promise.all(
    wanted.map(async (part) => {
      await pause(random.logarithmic(0.1, besideMsMax));
      return { part, row: await tx.get(rows, { convoy, part }) };
    }),
  );
}

function foundIn(
  found: readonly (Row & { readonly convoy: string; readonly part: string })[],
  convoy: string,
): readonly Found[] {
  return parts.map((part) => ({
    part,
    row: found.find((row) => row.convoy === convoy && row.part === part),
  }));
}

function partsOf(act: Act): readonly Part[] {
  switch (act) {
    case "advance":
      return ["left", "right"];
    case "advance by one":
      return ["right"];
    case "copy":
      return ["left"];
    case "look":
      return parts;
  }
}

function attemptName(unique: string, attempt: number): string {
  return `${unique}#${attempt.toString()}`;
}

function isAborted(error: unknown): boolean {
  if (error instanceof WorkloadFinding) return true;
  return error instanceof TransactionError && error.outcome === "aborted";
}

function complaintOf(convoy: string, seen: readonly Found[]): string | undefined {
  const told = seen.flatMap(({ part, row }) => (row === undefined ? [] : [{ part, row }]));
  const [first] = told;
  const shown = seen.map(({ part, row }) => `${part} ${String(row?.n)} by ${String(row?.by)}`);
  const problem = `${convoy} was seen with ${shown.join(", ")}`;
  if (told.some(({ row }) => row.n !== first?.row.n || row.by !== first.row.by)) return problem;
  if (first === undefined) return undefined;
  const isOdd = first.row.n % 2 === 1;
  const notes = seen.filter(({ part }) => part === "note");
  return notes.every(({ row }) => (row !== undefined) === isOdd) ? undefined : problem;
}
