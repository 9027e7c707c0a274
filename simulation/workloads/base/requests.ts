/**
 * Errands that are asked for and begun by runners: some units are taken from one store, and then
 * given to another one. They are asked for again, with the same input or another, cancelled while
 * runners take them up, and begun at once by others; some are refused by their first step, and some
 * handlers fail before it, a few until they are parked. Beside them units are moved at once, and
 * counted: whoever is no step finds all of them.
 */
import {
  BaseRefusedError,
  CommitUnknownError,
  defineBase,
  defineTable,
  type BaseDefinition,
  type BaseHandle,
} from "../../../sdk/index.ts";
import type { KeyOfTable } from "../../../testing/history/recording-options.ts";
import { testTable } from "../../../testing/test-tables.ts";
import { numbered, pickHot, sumOf } from "../key-spaces.ts";
import {
  WorkloadFinding,
  type BaseProcess,
  type Client,
  type Snapshot,
  type StepContext,
  type Transaction,
  type WorkloadFactory,
} from "../workload.ts";
import { HandlerTroubles, soonParked } from "./handler-troubles.ts";
import { lingering, type Pause, resultDeadlineMs } from "./lingering.ts";
import { ToldOfRequests, type Done } from "./told.ts";

type Store = { readonly id: string; readonly units: number };
type Errand = {
  readonly from: string;
  readonly to: string;
  readonly units: number;
  /** Tells inputs apart. */
  readonly by: string;
};
type DoneErrand = Done & { readonly id: string };

const stores = defineTable<Store>("stores", { key: "id" });
const errands = defineTable<DoneErrand>("errands", { key: "id" });
/** For who only looks. */
const named = defineBase("errand", () => Promise.resolve(""));
const openingUnits = 40;
const unitsMax = 30;
/** Of those that go on with what was asked for; the newest are begun just now. */
const newest = 4;
const raceMsMin = 1;
/** Runners look every second and a half. */
const raceMsMax = 4_000;

class TooFewError extends Error {}

export const baseRequests: WorkloadFactory = ({ keys, history }) => {
  const office = new Office(keys);
  return {
    tables: [
      testTable("stores", { partitionKey: "id", history, base: true }),
      testTable("errands", { partitionKey: "id", history, base: true }),
    ],
    universe: office.universe,
    base: { handlers: (process) => [office.errandIn(process, { isRunner: true })] },
    async setUp(client) {
      await client.transact((tx) => {
        for (const id of office.ids) tx.put(stores, id, { id, units: openingUnits });
        return Promise.resolve();
      });
    },
    step: (context) => office.step(context),
    judge: (client) => office.judge(client),
    sought: () => office.counts,
  };
};

class Office {
  readonly ids: readonly string[];
  readonly universe: KeyOfTable[];
  readonly #total: number;
  readonly #troubles = new HandlerTroubles();
  readonly #told = new ToldOfRequests();
  /** By id: the first input that it was asked for with. */
  readonly #inputs = new Map<string, Errand>();

  constructor(keys: number) {
    this.ids = numbered("store", keys);
    this.#total = keys * openingUnits;
    this.universe = this.ids.map((id) => ({ table: "stores", key: { id: { S: id } } }));
  }

  get counts(): Readonly<Record<string, number>> {
    return this.#told.counts;
  }

  errandIn(
    process: BaseProcess,
    { isRunner }: { readonly isRunner: boolean },
  ): BaseDefinition<Errand, string> {
    return defineBase("errand", soonParked, async (base, errand: Errand) => {
      // Who begins one himself is told what his handler throws before its first step.
      if (isRunner) await this.#troubles.between(process, base.id);
      await base.step("take", (tx) => take(tx, base.id, errand));
      await this.#troubles.between(process, base.id);
      await base.step("give", (tx) => give(tx, base.id, errand));
      return errand.by;
    });
  }

  async step(context: StepContext): Promise<void> {
    const { client, random } = context;
    const kind = random.next();
    if (kind < 0.45) await this.#ask(context);
    else if (kind < 0.6) await this.#cancelOne(context);
    else if (kind < 0.72) await this.#begin(context);
    else if (kind < 0.85) await this.#count(context);
    else if (kind < 0.96) await this.#moveAtOnce(context);
    else await this.#troubles.resumeParked(client, this.#errandOf(context));
  }

  async judge(client: Client): Promise<readonly string[]> {
    const [found, sum] = await client.snapshot(async (snapshot) => [
      await snapshot.scan(errands).all(),
      sumOf((await snapshot.scan(stores).all()).map(({ units }) => units)),
    ]);
    const done = new Map(found.map((row) => [row.id, row]));
    const complaints: string[] = [];
    if (sum !== this.#total) complaints.push(`the stores have ${sum} of ${this.#total} units`);
    for (const id of this.#told.ids) {
      const status = await client.baseOf(named, id).status();
      complaints.push(...this.#told.complaintsOf(id, status, done.get(id)));
      done.delete(id);
    }
    for (const id of done.keys()) complaints.push(`request ${id} is done, and nobody wanted it`);
    return complaints;
  }

  #errandOf(context: StepContext): BaseDefinition<Errand, string> {
    return this.errandIn(context, { isRunner: false });
  }

  #drawn({ random, unique: by }: StepContext): Errand {
    const from = pickHot(random, this.ids);
    const to = random.pick(this.ids.filter((each) => each !== from));
    return { from, to, units: random.integer(1, unitsMax), by };
  }

  #known({ random }: StepContext): string | undefined {
    const known = this.#told.ids;
    if (known.length === 0) return undefined;
    return random.pick(random.chance(0.7) ? known.slice(-newest) : known);
  }

  /** Mostly a new one, and sometimes one that somebody has asked for, cancelled or begun. */
  #wanted(context: StepContext): { readonly id: string; readonly input: Errand } {
    const { random, unique } = context;
    const known = random.chance(0.25) ? this.#known(context) : undefined;
    if (known === undefined) {
      this.universe.push({ table: "errands", key: { id: { S: unique } } });
      if (random.chance(0.04)) this.#troubles.stubborn(unique);
    }
    const id = known ?? unique;
    const drawn = this.#drawn(context);
    const input = random.chance(0.5) ? (this.#inputs.get(id) ?? drawn) : drawn;
    if (!this.#inputs.has(id)) this.#inputs.set(id, input);
    return { id, input };
  }

  async #ask(context: StepContext): Promise<void> {
    const { client, random, pause } = context;
    const { id, input } = this.#wanted(context);
    this.#told.asks(id);
    let requested: BaseHandle<string>;
    try {
      const answer = await client.requestBase(this.#errandOf(context), input, { id });
      requested = answer.requested;
      const { isNew, isSame } = answer;
      this.#told.recorded(id, { by: input.by, isNew, isSame });
    } catch (error) {
      if (!(error instanceof CommitUnknownError)) this.#told.recordedNothing(id);
      throw error;
    }
    if (random.chance(0.5)) {
      await pause(random.logarithmic(raceMsMin, raceMsMax));
      const isTwice = random.chance(0.2);
      const cancels = [this.#cancel(requested), ...(isTwice ? [this.#cancel(requested)] : [])];
      for (const each of await Promise.allSettled(cancels)) {
        if (each.status === "rejected") throw each.reason;
      }
    }
    if (random.chance(0.3)) await this.#result(requested);
  }

  async #cancelOne(context: StepContext): Promise<void> {
    const id = this.#known(context);
    if (id !== undefined) await this.#cancel(context.client.baseOf(this.#errandOf(context), id));
  }

  async #cancel(handle: BaseHandle<unknown>): Promise<void> {
    const { id } = handle;
    const was = this.#told.isRecorded(id);
    this.#told.cancelled(id, { was, isCancelled: await handle.cancel() });
  }

  async #result(handle: BaseHandle<string>): Promise<void> {
    try {
      this.#told.ended(handle.id, await handle.result({ deadlineMs: resultDeadlineMs }));
    } catch (error) {
      if (!(error instanceof BaseRefusedError)) throw error;
      this.#told.refused(handle.id);
    }
  }

  /** There and then, by what was asked for where that was so; beside runners that are at it. */
  async #begin(context: StepContext): Promise<void> {
    const { client, random } = context;
    const { id, input } = this.#wanted(context);
    this.#told.asks(id);
    try {
      const { accepted, isNew } = await client.base(this.#errandOf(context), input, { id });
      if (isNew) this.#told.recorded(id, { by: input.by, isNew });
      this.#told.accepted(id);
      if (random.chance(0.4)) await this.#result(accepted);
    } catch (error) {
      if (error instanceof BaseRefusedError) this.#told.refused(id);
      else if (!(error instanceof TooFewError)) throw error;
    }
  }

  async #count(context: StepContext): Promise<void> {
    const { client, random } = context;
    const lingers = lingering(context);
    const sum = random.chance(0.5)
      ? await client.snapshot((snapshot) => this.#sum(snapshot, lingers))
      : (await client.transact((tx) => this.#sum(tx, lingers))).result;
    if (sum === this.#total) return;
    throw new WorkloadFinding(`the stores were seen with ${sum} of ${this.#total} units`);
  }

  async #sum(reader: Pick<Transaction | Snapshot, "get">, pause: Pause): Promise<number> {
    let sum = 0;
    for (const id of this.ids) {
      sum += (await reader.get(stores, id))?.units ?? 0;
      await pause();
    }
    return sum;
  }

  async #moveAtOnce(context: StepContext): Promise<void> {
    const { from, to, units } = this.#drawn(context);
    await context.client.transact(async (tx) => {
      const [giver, taker] = await tx.batchGet(stores, [from, to]);
      if (giver === undefined || taker === undefined) throw new WorkloadFinding("no store");
      if (giver.units < units) return;
      tx.put(stores, from, { id: from, units: giver.units - units });
      tx.put(stores, to, { id: to, units: taker.units + units });
    });
  }
}

async function take(tx: Transaction, id: string, { from, units, by }: Errand): Promise<void> {
  const store = await tx.get(stores, from);
  const row = await tx.get(errands, id);
  if ((store?.units ?? 0) < units) throw new TooFewError(from);
  tx.put(stores, from, { id: from, units: (store?.units ?? 0) - units });
  tx.put(errands, id, { id, by, takes: (row?.takes ?? 0) + 1, gives: row?.gives ?? 0 });
}

async function give(tx: Transaction, id: string, { to, units }: Errand): Promise<void> {
  const store = await tx.get(stores, to);
  const row = await tx.get(errands, id);
  tx.put(stores, to, { id: to, units: (store?.units ?? 0) + units });
  const { by = "nobody", takes = 0, gives = 0 } = row ?? {};
  tx.put(errands, id, { id, by, takes, gives: gives + 1 });
}
