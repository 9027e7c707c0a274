/**
 * Operations of one body, started together, in whatever order the stores answer, beside commits of
 * the same process and of another one: each sees what docs/sdk.md says that it sees, all agree on
 * one state of the tables, and no write is lost or undone.
 */
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { OnDemand } from "../../core/on-demand.ts";
import { type Client, defineTable, type Snapshot, type Transaction } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud, testTable } from "../../testing/index.ts";

/** `g` is the generation, the same in all rows of a commit of others; `own`: what the body did. */
type Row = { readonly g: number; readonly own: string };
const rows = defineTable<Row, { readonly p: string; readonly s: string }, "p">("rows", {
  key: ["p", "s"],
});
const names = ["a", "b", "c"] as const;
type Name = (typeof names)[number];
const at = (s: Name) => ({ p: "p", s });

type Read = { readonly kind: "get" | "batchGet" | "query" | "scan" | "take" };
type Write = { readonly kind: "put" | "delete" | "update" | "patch" };
type Step = (Read | Write) & {
  readonly row: Name;
  /** Virtual time before the next step is called; 0: in the same turn. */
  readonly restMs: number;
};

/** Own rows over the tables: "base" stands for what the tables hold. */
type State = ReadonlyMap<Name, Shown>;
type Shown = { readonly from: "base" | "own"; readonly own: string } | undefined;

const base: State = new Map(names.map((name) => [name, { from: "base", own: "" } as const]));

/** What the state is after a write; every row is there at first, and again after a put. */
function after(state: State, step: Step, number: number): State {
  const shown = state.get(step.row);
  switch (step.kind) {
    case "put":
      return new Map(state).set(step.row, { from: "own", own: `put ${number}` });
    case "delete":
      return new Map(state).set(step.row, undefined);
    case "update":
    case "patch":
      if (shown === undefined) return state;
      return new Map(state).set(step.row, { ...shown, own: `${shown.own} +${number}` });
    default:
      return state;
  }
}

/** One run of the body: what was called, and what each read may show. */
class Run {
  readonly problems: string[] = [];
  /** Generations of rows that came from the tables. */
  readonly #generations = new Set<number>();
  /** After each call so far. */
  readonly #states: State[] = [base];

  get last(): State {
    return this.#states.at(-1) ?? base;
  }

  async step(tx: Transaction, step: Step, number: number): Promise<void> {
    const called = this.#states.length - 1;
    this.#states.push(after(this.last, step, number));
    switch (step.kind) {
      case "put":
        tx.put(rows, at(step.row), { g: 0, own: `put ${number}` });
        return;
      case "delete":
        tx.delete(rows, at(step.row));
        return;
      case "update":
      case "patch":
        this.#expectOne(await this.#change(tx, step, number), step, [called + 1, called + 1]);
        return;
      default:
        await this.read(tx, step, called);
    }
  }

  async #change(tx: Transaction, step: Step, number: number): Promise<Row | undefined> {
    if (step.kind === "update") {
      return tx.update(
        rows,
        at(step.row),
        (row) => row && { ...row, own: `${row.own} +${number}` },
      );
    }
    // A patch does not see the row: reads of its own say what it should be.
    const own = this.last.get(step.row)?.own ?? "";
    return tx.update(rows, at(step.row), { own });
  }

  async read(tx: Snapshot, step: Step, called = 0): Promise<void> {
    const now = (): readonly [number, number] => [called, this.#states.length - 1];
    switch (step.kind) {
      case "get":
        this.#expectOne(await tx.get(rows, at(step.row)), step, [called, called]);
        return;
      case "batchGet": {
        const found = await tx.batchGet(rows, names.map(at));
        for (const [i, row] of names.entries()) {
          this.#expectOne(found[i], { ...step, row }, [called, called]);
        }
        return;
      }
      case "query":
        this.#expectAll(await tx.query(rows, { where: { p: "p" } }).all(), step, now());
        return;
      case "scan":
        this.#expectAll(await tx.scan(rows).all(), step, now());
        return;
      default: {
        const found = await tx.query(rows, { where: { p: "p", s: { eq: step.row } } }).take(1);
        this.#expectOne(found[0], step, now());
      }
    }
  }

  #expectAll(
    found: readonly (Row & { readonly s: string })[],
    step: Step,
    range: readonly [number, number],
  ): void {
    for (const row of names) {
      this.#expectOne(
        found.find(({ s }) => s === row),
        { ...step, row },
        range,
      );
    }
  }

  /** @param range the states, by number of calls, of which one must be shown. */
  #expectOne(
    found: Row | undefined,
    { kind, row }: Step,
    [first, last]: readonly [number, number],
  ): void {
    const states = this.#states.slice(first, last + 1).map((state) => state.get(row));
    if (!states.some((shown) => this.#isShown(found, shown))) {
      const wanted = JSON.stringify(states);
      this.problems.push(`${kind} ${row}: ${JSON.stringify(found)}, not one of ${wanted}`);
    }
    if (this.#generations.size > 1) {
      this.problems.push(`torn: generations ${[...this.#generations].join(", ")}`);
    }
  }

  #isShown(found: Row | undefined, shown: Shown): boolean {
    if (found === undefined || shown === undefined) return found === shown;
    if (found.own !== shown.own) return false;
    if (shown.from === "base") this.#generations.add(found.g);
    return shown.from === "base" || found.g === 0;
  }

  /** Whether the rows are what the body left, or what others have written since. */
  expectStored(stored: readonly (Row & { readonly s: string })[]): void {
    const byOthers = stored.length === names.length && stored.every(({ own }) => own === "");
    if (byOthers && new Set(stored.map(({ g }) => g)).size === 1) return;
    this.#generations.clear();
    const step: Step = { kind: "get", row: "a", restMs: 0 };
    const end = this.#states.length - 1;
    this.#expectAll(stored, step, [end, end]);
  }
}

/** Commits of others, all rows in one generation, while the body runs. */
async function others(cloud: TestCloud, client: Client, first: number): Promise<void> {
  for (let g = first; g < first + 2; g += 1) {
    await client.transact({ attemptsMax: 100 }, async (tx) => {
      await tx.get(rows, at("a"));
      for (const name of names) tx.put(rows, at(name), { g, own: "" });
    });
    await cloud.world.time.sleep(3);
  }
}

type Scene = {
  readonly seed: number;
  readonly beginMs: number;
  readonly history: boolean;
  /** What loading a part of the program takes, each time; undefined where all are loaded. */
  readonly loadMs?: number | undefined;
};

/** As if parts had to be loaded whenever they are used. */
function loadLate(cloud: TestCloud, loadMs: number): () => void {
  const spy = vi.spyOn(OnDemand.prototype, "use");
  spy.mockImplementation(async function (this: OnDemand<unknown>, action) {
    const [part] = await Promise.all([this.load(), cloud.world.time.sleep(loadMs)]);
    return action(part);
  });
  return () => {
    spy.mockRestore();
  };
}

async function play(
  scene: Scene,
  body: (app: Client, cloud: TestCloud) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const table = testTable("rows", { partitionKey: "p", sortKey: "s", history: scene.history });
  const cloud = await createTestCloud({ seed: scene.seed, tables: [table] });
  cloud.seed(
    rows,
    names.map((name) => ({ ...at(name), g: 1, own: "" })),
  );
  const app = cloud.createClient("app");
  const foreign = cloud.createClient("foreign");
  const loadAtOnce = scene.loadMs === undefined ? undefined : loadLate(cloud, scene.loadMs);
  try {
    return await cloud.run(async () => {
      const [found] = await Promise.all([
        cloud.world.time.sleep(scene.beginMs).then(() => body(app, cloud)),
        others(cloud, app, 10),
        others(cloud, foreign, 20),
      ]);
      return found;
    });
  } finally {
    loadAtOnce?.();
  }
}

function transaction(steps: readonly Step[]) {
  return async (app: Client, cloud: TestCloud): Promise<readonly string[]> => {
    let run = new Run();
    const problems: string[] = [];
    await app.transact({ attemptsMax: 100 }, async (tx) => {
      run = new Run();
      const { problems: found } = run;
      try {
        const begun: Promise<void>[] = [];
        for (const [number, step] of steps.entries()) {
          const each = run.step(tx, step, number);
          each.catch(() => undefined);
          begun.push(each);
          if (step.restMs > 0) await cloud.world.time.sleep(step.restMs);
        }
        await Promise.all(begun);
      } finally {
        // Also of runs that cannot commit.
        problems.push(...found);
      }
    });
    const ended = run.problems.length;
    run.expectStored(await app.snapshot((snapshot) => snapshot.scan(rows).all()));
    return [...problems, ...run.problems.slice(ended)];
  };
}

const readKinds = ["get", "batchGet", "query", "scan", "take"] as const;
const kinds = [...readKinds, "put", "delete", "update", "patch"] as const;
const restMs = fc.constantFrom(0, 0, 0.1, 2, 8);
const scene = fc.record({
  seed: fc.nat(100_000),
  beginMs: fc.constantFrom(0, 5, 12, 25, 60),
  history: fc.boolean(),
  loadMs: fc.constantFrom(undefined, undefined, 1, 20),
});
const stepOf = (of: readonly Step["kind"][]): fc.Arbitrary<Step> =>
  fc.record({
    kind: fc.constantFrom(...of),
    row: fc.constantFrom("a" as const, "a" as const, "b" as const),
    restMs,
  });

const pairs = kinds.flatMap((first) => kinds.map((second) => [first, second] as const));

test.each(kinds)("%s beside each other operation", async (first) => {
  for (const [i, [, second]] of pairs.filter(([kind]) => kind === first).entries()) {
    for (const [rest, loadMs] of [[0], [0.1], [0, 5]]) {
      const steps = [first, second].map((kind): Step => ({ kind, row: "a", restMs: rest ?? 0 }));
      const scene = { seed: i, beginMs: 12, history: false, loadMs };
      const found = await play(scene, transaction(steps));
      expect({ first, second, rest, loadMs, found }).toEqual({
        first,
        second,
        rest,
        loadMs,
        found: [],
      });
    }
  }
});

test("any operations of a body, started together", async () => {
  const steps = fc.array(stepOf(kinds), { minLength: 2, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(scene, steps, async (at, of) => {
      expect(await play(at, transaction(of))).toEqual([]);
    }),
    {
      numRuns: 60,
      examples: [
        // "b" waited for an install while the update of "a" was chained to a commit of both.
        [
          { seed: 22_836, beginMs: 0, history: false, loadMs: undefined },
          [
            { kind: "update", row: "a", restMs: 0 },
            { kind: "scan", row: "a", restMs: 8 },
            { kind: "get", row: "b", restMs: 0 },
          ],
        ],
      ],
    },
  );
});

test("any reads of a snapshot, started together", async () => {
  const steps = fc.array(stepOf(readKinds), { minLength: 2, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(scene, steps, async (at, of) => {
      const found = await play(at, async (app, cloud) => {
        const problems: string[] = [];
        await app.snapshot(async (snapshot) => {
          const run = new Run();
          await Promise.all(
            of.map(async (step) => {
              await cloud.world.time.sleep(step.restMs);
              await run.read(snapshot, step);
            }),
          );
          problems.push(...run.problems);
        });
        return problems;
      });
      expect(found).toEqual([]);
    }),
    { numRuns: 30 },
  );
});
