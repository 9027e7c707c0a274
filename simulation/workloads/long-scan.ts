/**
 * Readers that go through a whole table page by page, with pauses, beside writers that carry units
 * from place to place and remove and insert rows as they go. Whatever the reader (a transaction of
 * either isolation, a snapshot, a stale one, one of the recent past), it counts all units exactly
 * once.
 */
import { defineTable, type Rows } from "../../sdk/index.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { gridOf } from "./grid.ts";
import { numbered, pickHot, sumOf, upTo } from "./key-spaces.ts";
import {
  WorkloadFinding,
  type Client,
  type Snapshot,
  type StepContext,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "./workload.ts";

type PlaceKey = { readonly shelf: string; readonly place: Uint8Array };
type Place = { readonly units: number };
const stock = defineTable<Place, PlaceKey, "shelf">("stock", { key: ["shelf", "place"] });

const placesOfShelf = 5;
const openingUnits = 2;
const stampsMax = 50;
/** Tries of one pass; its pages may be overwritten faster than it reads. */
const passesMax = 4;

type Pass = {
  readonly way: "query" | "scan";
  readonly limit: number;
  readonly pauseMs: number;
  readonly shelves: readonly string[];
};
type Reading = "transaction" | "snapshot" | "stale" | "past";

export const longScan: WorkloadFactory = (settings) => new LongScan(settings);

class LongScan implements Workload {
  readonly tables: Workload["tables"];
  readonly universe: NonNullable<Workload["universe"]>;
  readonly #shelves: readonly string[];
  readonly #places = upTo(placesOfShelf).map((place) => Uint8Array.of(place, 0, 255 - place));
  readonly #total: number;
  readonly #history: boolean;
  /** When something was committed, in microseconds: moments to look back at. */
  readonly #stamps: number[] = [];

  constructor({ keys, history }: Pick<WorkloadSettings, "keys" | "history">) {
    this.#shelves = numbered("shelf", Math.max(2, Math.ceil(keys / 2)));
    this.#total = this.#shelves.length * placesOfShelf * openingUnits;
    this.#history = history;
    const grid = gridOf(stock, { partitions: this.#shelves, places: this.#places, history });
    this.tables = [grid.table];
    this.universe = grid.universe;
  }

  async setUp(client: Client): Promise<void> {
    const { receipt } = await client.transact(async (tx) => {
      for (const shelf of this.#shelves) {
        for (const place of this.#places) tx.put(stock, { shelf, place, units: openingUnits });
      }
      return Promise.resolve();
    });
    this.#stamp(receipt.commitTimestamp);
  }

  async step(context: StepContext): Promise<void> {
    await (context.random.chance(0.75) ? this.#carry(context) : this.#count(context));
  }

  async judge(client: Client): Promise<readonly string[]> {
    const once = { limit: 100, pauseMs: 0, shelves: this.#shelves };
    const counts = await client.snapshot((snapshot) =>
      Promise.all(
        (["query", "scan"] as const).map((way) =>
          unitsOf(snapshot, { ...once, way }, () => Promise.resolve()),
        ),
      ),
    );
    return counts
      .filter((units) => units !== this.#total)
      .map((units) => `there are ${units.toString()} of ${this.#total.toString()} units`);
  }

  async #carry({ client, random, isolation, pause }: StepContext): Promise<void> {
    const from = { shelf: pickHot(random, this.#shelves), place: pickHot(random, this.#places) };
    const others = this.#places.filter((place) => place !== from.place);
    const to = { shelf: pickHot(random, this.#shelves), place: pickHot(random, others) };
    const share = random.next();
    const lingersMs = random.chance(0.7) ? random.between(1, 300) : 0;
    const { receipt } = await client.transact({ isolation }, async (tx) => {
      const [source, target] = await tx.batchGet([
        [stock, from],
        [stock, to],
      ]);
      if (source === undefined) return;
      if (lingersMs > 0) await pause(lingersMs);
      const units = Math.ceil(share * source.units);
      if (units === source.units) tx.delete(stock, from);
      else await tx.update(stock, from, { units: source.units - units });
      tx.put(stock, to, { units: (target?.units ?? 0) + units });
    });
    this.#stamp(receipt.commitTimestamp);
  }

  async #count({ client, random, isolation, pause }: StepContext): Promise<void> {
    const pass = passOf(random, { shelves: this.#shelves, history: this.#history });
    const reading = random.pick<Reading>(["transaction", "snapshot", "stale", "past"]);
    const count = async (reader: Pick<Snapshot, "query" | "scan">): Promise<void> => {
      const units = await unitsOf(reader, pass, pause);
      if (units === this.#total) return;
      throw new WorkloadFinding(
        `${reading} (${isolation}) by ${pass.way} counted ${units.toString()} of ` +
          `${this.#total.toString()} units`,
      );
    };
    if (reading === "transaction") {
      await client.transact({ isolation, attemptsMax: passesMax }, count);
    } else if (reading === "snapshot") {
      await client.snapshot({ attemptsMax: passesMax }, count);
    } else if (reading === "stale") {
      const maxStalenessMs = random.integer(1, 5_000);
      await client.snapshot({ maxStalenessMs, attemptsMax: passesMax }, count);
    } else {
      await client.snapshot({ asOf: random.pick(this.#moments), attemptsMax: passesMax }, count);
    }
  }

  /** Without history hardly any moment but the newest can still be read. */
  get #moments(): readonly number[] {
    return this.#history ? this.#stamps : this.#stamps.slice(-2);
  }

  #stamp(timestamp: number | undefined): void {
    if (timestamp === undefined) return;
    this.#stamps.push(timestamp);
    if (this.#stamps.length > stampsMax) this.#stamps.shift();
  }
}

/**
 * Without history a pass that takes long never ends: something in it has always been overwritten.
 */
function passOf(
  random: SeededRandom,
  { shelves, history }: { readonly shelves: readonly string[]; readonly history: boolean },
): Pass {
  return {
    way: random.pick(["query", "scan"]),
    limit: random.integer(3, 20),
    pauseMs: random.chance(0.5) ? random.logarithmic(1, history ? 2_000 : 20) : 0,
    shelves,
  };
}

async function unitsOf(
  reader: Pick<Snapshot, "query" | "scan">,
  { way, limit, pauseMs, shelves }: Pass,
  pause: StepContext["pause"],
): Promise<number> {
  const passes: readonly Rows<Place>[] =
    way === "scan"
      ? [reader.scan(stock)]
      : shelves.map((shelf) => reader.query(stock, { where: { shelf } }));
  let units = 0;
  for (const rows of passes) {
    let cursor: string | undefined;
    do {
      const page = await rows.page({ limit, ...(cursor === undefined ? {} : { cursor }) });
      units += sumOf(page.rows.map((row) => row.units));
      cursor = page.cursor;
      if (pauseMs > 0) await pause(pauseMs);
    } while (cursor !== undefined);
  }
  return units;
}
