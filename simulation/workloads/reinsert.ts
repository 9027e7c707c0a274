/**
 * Rows that are deleted and inserted again, each time as the next incarnation, whose number stands
 * in a row of its own. An old version that comes back, by a late install or because its tombstone
 * went too early, has a number that was passed long ago. Once in a run all clients rest for longer
 * than tombstones live, so that reinsertion starts from nothing; most often one of them is in the
 * middle of reading then, on a machine that sleeps. Afterwards readers look back at moments of the
 * rest.
 */
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { gridOf } from "./grid.ts";
import { numbered, pickHot, upTo } from "./key-spaces.ts";
import {
  WorkloadFinding,
  type Client,
  type Snapshot,
  type StepContext,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "./workload.ts";

type CellKey = { readonly shelf: string; readonly cell: Uint8Array };
const cells = defineTable<{ readonly incarnation: number }, CellKey, "shelf">("cells", {
  key: ["shelf", "cell"],
});
const incarnations = defineTable<{ readonly last: number }, { readonly name: string }>(
  "incarnations",
  { key: "name" },
);

const shelves = numbered("shelf", 2);
/** Tombstones go 15 minutes after the watermark has passed them, by a reaper that comes every 5. */
const restMsMin = 21 * 60_000;
const restMsMax = 28 * 60_000;
const restChance = 0.03;
/** Steps that others take between the moment at which the sleeper begins and their own rest. */
const stepsBeforeRest = 3;
const sleeperChance = 0.7;
const lookBackMsMax = 8 * 60_000;
const acts = ["delete", "delete", "delete blindly", "insert", "overwrite"] as const;

export const reinsert: WorkloadFactory = (settings) => new Reinsert(settings);

class Reinsert implements Workload {
  readonly tables: Workload["tables"];
  readonly universe: NonNullable<Workload["universe"]>;
  readonly #cells: readonly CellKey[];
  /** Numbers that were acknowledged, by name of the cell. */
  readonly #reached = new Map<string, number>();
  /**
   * By the wall clock, and the same for all: who comes later rests for what is left of it. A rest
   * of its own for everyone would keep a run from ending that clients join at all times.
   */
  #restEndsMs: number | undefined;
  /** Steps that are left before the rest, by the randomness of who takes them. */
  readonly #stepsLeft = new WeakMap<SeededRandom, number>();

  constructor({ keys, history }: Pick<WorkloadSettings, "keys" | "history">) {
    const places = upTo(Math.ceil(keys / 2)).map((cell) => Uint8Array.of(0xff, cell));
    this.#cells = shelves.flatMap((shelf) => places.map((cell) => ({ shelf, cell })));
    const grid = gridOf(cells, { partitions: shelves, places, history });
    this.tables = [grid.table, testTable("incarnations", { partitionKey: "name", history })];
    this.universe = grid.universe;
  }

  setUp(): Promise<void> {
    return Promise.resolve();
  }

  async step(context: StepContext): Promise<void> {
    const { random, nowMs } = context;
    if (this.#restEndsMs === undefined && random.chance(restChance)) {
      const restMs = random.between(restMsMin, restMsMax);
      this.#restEndsMs = nowMs() + restMs;
      const sleeps = random.chance(sleeperChance);
      this.#stepsLeft.set(random, sleeps ? -1 : 0);
      if (sleeps) {
        await this.#sleepAndReadOn(context, restMs);
        return;
      }
    }
    await this.#maybeRest(context);
    const chance = random.next();
    if (chance < 0.75) await this.#act(context);
    else if (chance < 0.9) await this.#look(context);
    else await this.#lookBack(context);
  }

  async #maybeRest({ random, pause, nowMs }: StepContext): Promise<void> {
    if (this.#restEndsMs === undefined) return;
    const left = this.#stepsLeft.get(random) ?? stepsBeforeRest;
    this.#stepsLeft.set(random, left - 1);
    const restMs = this.#restEndsMs - nowMs();
    if (left === 0 && restMs > 0) await pause(restMs);
  }

  /**
   * Whatever the sleeper has read before: what it reads afterwards is of the same moment, or it
   * reads anew.
   */
  async #sleepAndReadOn({ client, random, suspend }: StepContext, forMs: number): Promise<void> {
    const from = random.integer(1, this.#cells.length - 1);
    await client.snapshot(async (snapshot) => {
      for (const [index, cell] of this.#cells.entries()) {
        if (index === from && snapshot.attempt === 1) await suspend(forMs);
        await snapshot.get(cells, cell);
      }
    });
  }

  async #look({ client, random, pause }: StepContext): Promise<void> {
    const way = random.pick(["query", "scan"] as const);
    const floors = new Map(this.#reached);
    const lingersMs = random.chance(0.5) ? random.between(1, 200) : 0;
    const [complaint] = await client.snapshot((snapshot) =>
      this.#complaints(snapshot, { way, floors, linger: () => pause(lingersMs) }),
    );
    if (complaint !== undefined) throw new WorkloadFinding(`seen by ${way}: ${complaint}`);
  }

  async #lookBack({ client, random, nowMs }: StepContext): Promise<void> {
    const way = random.pick(["query", "scan"] as const);
    const asOf = Math.floor(nowMs() - random.logarithmic(1, lookBackMsMax)) * 1_000;
    const [complaint] = await client.snapshot({ asOf }, (snapshot) =>
      this.#complaints(snapshot, { way, floors: new Map() }),
    );
    if (complaint !== undefined) throw new WorkloadFinding(`seen in the past: ${complaint}`);
  }

  judge(client: Client): Promise<readonly string[]> {
    return client.snapshot((snapshot) =>
      this.#complaints(snapshot, { way: "query", floors: this.#reached }),
    );
  }

  async #act({ client, random, isolation, pause }: StepContext): Promise<void> {
    const key = pickHot(random, this.#cells);
    const name = nameOf(key);
    const act = random.pick(acts);
    const lingersMs = random.chance(0.4) ? random.between(1, 200) : 0;
    const { result: number } = await client.transact({ isolation }, async (tx) => {
      if (act === "delete blindly") {
        tx.delete(cells, key);
        return 0;
      }
      const cell = await tx.get(cells, key);
      const last = (await tx.get(incarnations, name))?.last ?? 0;
      const [complaint] = cell === undefined ? [] : wrongCell(name, cell.incarnation, last);
      if (complaint !== undefined) throw new WorkloadFinding(complaint);
      if (lingersMs > 0) await pause(lingersMs);
      if (act === "delete" && cell !== undefined) {
        tx.delete(cells, key);
        return last;
      }
      tx.put(cells, key, { incarnation: last + 1 });
      tx.put(incarnations, { name, last: last + 1 });
      return last + 1;
    });
    this.#reached.set(name, Math.max(number, this.#reached.get(name) ?? 0));
  }

  async #complaints(
    reader: Pick<Snapshot, "query" | "scan" | "batchGet">,
    { way, floors, linger }: Look,
  ): Promise<readonly string[]> {
    const found = await cellsBy(reader, way);
    await linger?.();
    const numbers = await reader.batchGet(incarnations, this.#cells.map(nameOf));
    const last = new Map(
      numbers.flatMap((row) => (row === undefined ? [] : [[row.name, row.last]])),
    );
    return [
      ...found.flatMap((row) => wrongCell(nameOf(row), row.incarnation, last.get(nameOf(row)))),
      ...[...floors]
        .filter(([name, floor]) => (last.get(name) ?? 0) < floor)
        .map(([name, floor]) => `${name} had reached incarnation ${floor.toString()}`),
    ];
  }
}

type Look = {
  readonly way: "query" | "scan";
  /** Incarnations that must have been reached, by name. */
  readonly floors: ReadonlyMap<string, number>;
  /** Between what it reads first and what it reads then. */
  readonly linger?: () => Promise<void>;
};

async function cellsBy(
  reader: Pick<Snapshot, "query" | "scan">,
  way: "query" | "scan",
): Promise<readonly (CellKey & { readonly incarnation: number })[]> {
  if (way === "scan") return reader.scan(cells).all();
  const pages = shelves.map((shelf) => reader.query(cells, { where: { shelf } }).all());
  return (await Promise.all(pages)).flat();
}

/** What a broken protocol shows may be no cell at all. */
function wrongCell(name: string, incarnation: number, last: number | undefined): string[] {
  if (incarnation === last) return [];
  return [`${name} is of incarnation ${String(incarnation)}; the last is ${String(last)}`];
}

function nameOf({ shelf, cell }: CellKey): string {
  return `${shelf}/${(cell[1] ?? 0).toString()}`;
}
