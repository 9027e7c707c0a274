/**
 * One item of a mixed table, transactions that work on it through `MixedItems`, and native writers
 * in between, in an order that a list of choices gives. Calls get lost, and copies come late.
 * Judged as model/TidemarkNative.tla judges: every write has its place in the item's order, a
 * transaction's since the fence that it voted; in the end the item is what that order says, and
 * what was read was true at its place.
 */
import { assert } from "../../../core/assert.ts";
import { bars, type FenceFate, type MetFence } from "../../../core/fence.ts";
import { contentOf, isHidden } from "../../../core/item-content.ts";
import { fenceOf, identityOf } from "../../../core/item-identity.ts";
import type { Attempted, ItemAddress, MixedItemStore } from "../../../core/mixed-items-port.ts";
import type { Item, Stamp, TransactionId, Version } from "../../../core/types.ts";
import { toRemove } from "../../../core/clean-up.ts";
import { MixedItems, type FenceJudge } from "../../../engine/mixed/mixed-items.ts";
import type { SeenItem } from "../../../engine/mixed/seen-item.ts";
import { NaiveItems } from "./naive-items.ts";

export type NativeKind =
  | "put"
  | "delete"
  | "update"
  | "plain-put"
  | "plain-delete"
  | "plain-update";

export type TransactionPlan = {
  readonly reads: boolean;
  readonly deletes: boolean;
  readonly local: boolean;
};

export type Scenario = {
  readonly first: "absent" | "bare" | "version";
  readonly transactions: readonly TransactionPlan[];
  readonly natives: readonly NativeKind[];
  readonly choices: readonly number[];
};

type Effect = "blind" | "update" | "delete";
type Event = { readonly who: string; readonly at: number; readonly effect: Effect };

type Transaction = {
  readonly id: TransactionId;
  readonly plan: TransactionPlan;
  state: "unknown" | "open" | "committed" | "aborted";
  got: readonly string[] | undefined;
  stamp: Stamp | undefined;
  /** Of the log, and its version. */
  committedAt: number;
  /** Fences that stood, by the identity under them. */
  readonly fences: Map<string, number>;
  local: "committed" | "changed" | "refer" | "unknown" | undefined;
  isStarted: boolean;
  isDead: boolean;
};

/** Somebody's next step. */
type Turn = {
  readonly whose: Transaction | undefined;
  readonly isEnabled: () => boolean;
  readonly take: () => void;
  /** Of a call whose answer may be lost, and which may come late. */
  readonly faults?: readonly (() => void)[];
};

const table = { name: "t", partitionKey: "pk" };
const key = { pk: { S: "x" } };
const at: ItemAddress = { table, key };

function valueOf(item: Item | undefined): readonly string[] {
  const value = contentOf(item, table)?.["value"];
  return value !== undefined && "S" in value ? (JSON.parse(value.S) as string[]) : [];
}

function itemOf(value: readonly string[]): Item {
  return { ...key, value: { S: JSON.stringify(value) } };
}

export class OneItemWorld {
  readonly #naive = new NaiveItems();
  readonly #events: Event[] = [];
  readonly #transactions: Transaction[];
  readonly #natives: NativeKind[];
  readonly #choices: number[];
  readonly #turns: Turn[] = [];
  /** Copies of calls that come late, if they come. */
  readonly #late: (() => void)[] = [];
  #faultsLeft = 4;
  #now = 0;
  #nonces = 0;

  constructor(scenario: Scenario) {
    const old = itemOf(["old"]);
    if (scenario.first === "bare") this.#naive.put(key, old);
    if (scenario.first === "version") this.#naive.put(key, { ...old, _v: { N: "1" } });
    if (scenario.first !== "absent") this.#events.push({ who: "old", at: 0, effect: "blind" });
    this.#natives = [...scenario.natives];
    this.#choices = [...scenario.choices];
    this.#transactions = scenario.transactions.map((plan, i) => ({
      id: `${i}`.padStart(32, "0") as TransactionId,
      plan,
      state: "unknown",
      got: undefined,
      stamp: undefined,
      committedAt: 0,
      fences: new Map(),
      local: undefined,
      isStarted: false,
      isDead: false,
    }));
  }

  async run(): Promise<void> {
    for (;;) {
      // Whatever was answered goes on to its next turn.
      await new Promise((resolve) => setImmediate(resolve));
      const options = this.#options();
      const take = options[(this.#choices.shift() ?? 0) % Math.max(1, options.length)];
      if (take === undefined) break;
      this.#now += 1;
      take();
    }
    this.#end();
  }

  #options(): (() => void)[] {
    const options: (() => void)[] = [];
    this.#turns.forEach((turn) => {
      if (turn.whose?.isDead === true || !turn.isEnabled()) return;
      const taken = (take: () => void) => () => {
        this.#turns.splice(this.#turns.indexOf(turn), 1);
        take();
      };
      options.push(taken(turn.take));
      if (this.#choices.length === 0 || this.#faultsLeft === 0) return;
      for (const fault of turn.faults ?? []) {
        options.push(
          taken(() => {
            this.#faultsLeft -= 1;
            fault();
          }),
        );
      }
    });
    this.#transactions.forEach((each) => {
      if (!each.isStarted) options.push(() => void this.#start(each));
    });
    this.#natives.forEach((kind, i) => {
      if (this.#mayWrite(kind))
        options.push(() => {
          this.#write(kind, i);
        });
    });
    if (this.#choices.length === 0) return options;
    this.#late.forEach((copy, i) => {
      options.push(() => {
        this.#late.splice(i, 1);
        copy();
      });
    });
    for (const each of this.#transactions) {
      if (each.state === "open")
        options.push(() => {
          this.#decide(each, undefined);
        });
      if (each.state === "committed")
        options.push(() => {
          this.#installOf(each);
        });
      if (each.state === "aborted")
        options.push(() => {
          this.#cleanUpOf(each);
        });
      if (each.isStarted && !each.isDead)
        options.push(() => {
          each.isDead = true;
        });
    }
    return options;
  }

  // --- Transactions -----------------------------------------------------------------------------

  async #start(own: Transaction): Promise<void> {
    own.isStarted = true;
    const mixed = new MixedItems(
      {
        mixed: this.#storeFor(own),
        clock: { nowMs: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() },
        random: { next: () => 0, bytes: () => this.#nonce() },
      },
      this.#judge(own),
    );
    const { plan } = own;
    const read = plan.reads ? await mixed.read(at) : undefined;
    if (read !== undefined) own.got = valueOf(read.content);
    const item = plan.deletes ? undefined : itemOf([...(own.got ?? []), own.id]);
    if (plan.local) {
      const { kind } = await mixed.commitLocally({ at, read, item });
      own.local = kind;
      if (kind !== "refer") return;
    }
    await this.#turn(own, () => !this.#transactions.some(({ state }) => state === "open"));
    own.state = "open";
    await this.#prepared(own, { mixed, read, item });
  }

  async #prepared(
    own: Transaction,
    {
      mixed,
      read,
      item,
    }: { mixed: MixedItems; read: SeenItem | undefined; item: Item | undefined },
  ): Promise<void> {
    const { id } = own;
    const fenced = await mixed.fence({ id, at, read });
    await this.#turn(own);
    if (fenced.kind !== "fenced") {
      this.#decide(own, undefined);
      await mixed.cleanUp(id, [at]);
      return;
    }
    this.#decide(own, fenced.stamp);
    if (!this.#isCommitted(own)) return;
    const version = this.#versionOf(own);
    await this.#storeFor(own).install({ ...at, id, item, version, stamp: fenced.stamp });
  }

  /** The first vote stands. */
  #decide(own: Transaction, stamp: Stamp | undefined): void {
    if (own.state !== "open") return;
    own.state = stamp === undefined ? "aborted" : "committed";
    own.stamp = stamp;
    own.committedAt = this.#now;
  }

  #isCommitted({ state }: Transaction): boolean {
    return state === "committed";
  }

  #versionOf({ committedAt }: Transaction): Version {
    return (1_000 + committedAt) as Version;
  }

  #installOf(own: Transaction): void {
    assert(own.stamp !== undefined, "who is committed has voted");
    const value = [...(own.got ?? []), own.id];
    const item = own.plan.deletes ? undefined : itemOf(value);
    const version = this.#versionOf(own);
    this.#naive.install({ ...at, id: own.id, item, version, stamp: own.stamp });
  }

  #cleanUpOf({ id }: Transaction): void {
    const removes = toRemove(this.#item, { id, keys: table });
    if (removes !== undefined) this.#naive.cleanUp({ ...at, id, removes });
  }

  #judge(whose: Transaction): FenceJudge {
    const met = ({ fence }: MetFence) => this.#byId(fence);
    return {
      fateOf: async (fence) => {
        await this.#turn(whose);
        return this.#fateOf(met(fence));
      },
      settle: async (fence) => {
        await this.#turn(whose);
        const other = met(fence);
        this.#decide(other, undefined);
        await this.#turn(whose);
        if (this.#isCommitted(other)) this.#installOf(other);
      },
    };
  }

  #byId(id: TransactionId): Transaction {
    const found = this.#transactions.find((each) => each.id === id);
    assert(found !== undefined, "fences are of transactions");
    return found;
  }

  #fateOf({ state, stamp }: Transaction): FenceFate {
    if (state === "committed") return { kind: "committed", stamp };
    return { kind: state === "open" ? "open" : "over" };
  }

  // --- The store --------------------------------------------------------------------------------

  get #item(): Item | undefined {
    return this.#naive.get(key);
  }

  #nonce(): Uint8Array {
    this.#nonces += 1;
    return new Uint8Array(16).fill(this.#nonces);
  }

  #storeFor(own: Transaction): MixedItemStore {
    const idempotent = <Answer>(apply: () => Answer): Promise<Answer> =>
      this.#call(own, apply, (resolve) => [
        () => {
          resolve(apply());
          this.#late.push(apply);
        },
      ]);
    const once = (apply: () => Attempted): Promise<Attempted> =>
      this.#call(own, apply, (resolve) => {
        const lost = { kind: "unknown", cause: "lost" } as const;
        return [
          () => {
            resolve(lost);
          },
          () => {
            apply();
            resolve(lost);
          },
          () => {
            this.#late.push(apply);
            resolve(lost);
          },
        ];
      });
    const refuse = () => Promise.reject(new Error("one item has no pages"));
    return {
      query: refuse,
      scan: refuse,
      read: () =>
        this.#call(
          own,
          () => this.#item,
          () => [],
        ),
      readAll: () =>
        this.#call(
          own,
          () => [this.#item],
          () => [],
        ),
      install: (request) => idempotent(() => this.#naive.install(request)),
      cleanUp: (request) => idempotent(() => this.#naive.cleanUp(request)),
      stamp: (request) => once(() => this.#naive.stamp(request)),
      fence: (request) =>
        once(() => {
          const answer = this.#naive.fence(request);
          const under = JSON.stringify(identityOf(this.#item));
          const isFirst = answer.kind === "done" && !own.fences.has(under);
          if (isFirst) own.fences.set(under, this.#now);
          return answer;
        }),
      writeLocally: (request) =>
        once(() => {
          const answer = this.#naive.writeLocally(request);
          if (answer.kind === "done") this.#note(own.id, this.#effectOf(own));
          return answer;
        }),
    };
  }

  #call<Answer>(
    whose: Transaction,
    apply: () => Answer,
    faults: (resolve: (answer: Answer) => void) => readonly (() => void)[],
  ): Promise<Answer> {
    return new Promise((resolve) => {
      const take = () => {
        resolve(apply());
      };
      this.#turns.push({ whose, isEnabled: () => true, take, faults: faults(resolve) });
    });
  }

  #turn(whose: Transaction, isEnabled = () => true): Promise<void> {
    return new Promise((take) => void this.#turns.push({ whose, isEnabled, take }));
  }

  // --- Native writers ---------------------------------------------------------------------------

  /** Updates wait for a fence that bars; those that know nothing of it have a gap there. */
  #mayWrite(kind: NativeKind): boolean {
    const fence = this.#item && fenceOf(this.#item);
    if (fence === undefined || !kind.endsWith("update")) return true;
    return !bars({ under: identityOf(this.#item) }, this.#fateOf(this.#byId(fence)));
  }

  #write(kind: NativeKind, index: number): void {
    this.#natives.splice(index, 1);
    const who = `${kind}-${this.#now}`;
    const _n = { B: this.#nonce() };
    const fence = this.#item && fenceOf(this.#item);
    if (kind === "update" && fence !== undefined) this.#cleanUpOf(this.#byId(fence));
    const { value } = itemOf([...valueOf(this.#item), who]);
    assert(value !== undefined, "an item has a value");
    if (kind === "put") this.#naive.put(key, { ...itemOf([who]), _n });
    if (kind === "plain-put") this.#naive.put(key, itemOf([who]));
    if (kind === "update") this.#naive.put(key, { ...key, ...this.#item, value, _n });
    if (kind === "plain-update") this.#naive.put(key, { ...key, ...this.#item, value });
    if (kind.endsWith("delete")) this.#naive.put(key, undefined);
    const effect = kind.endsWith("put") ? "blind" : kind.endsWith("update") ? "update" : "delete";
    this.#note(who, effect);
  }

  // --- Judges -----------------------------------------------------------------------------------

  #effectOf({ plan }: Transaction): Effect {
    if (plan.deletes) return "delete";
    return plan.reads ? "update" : "blind";
  }

  #note(who: string, effect: Effect): void {
    this.#events.push({ who, at: this.#now, effect });
  }

  /** What the item's order says of it before a moment. */
  #valueBefore(moment: number): readonly string[] {
    const before = this.#events.filter((event) => event.at < moment);
    before.sort((a, b) => a.at - b.at);
    return before.reduce<readonly string[]>((value, { who, effect }) => {
      if (effect === "delete") return [];
      return effect === "update" ? [...value, who] : [who];
    }, []);
  }

  #end(): void {
    this.#now += 1;
    for (const own of this.#transactions) this.#decide(own, undefined);
    // Before and after what comes late.
    for (const copy of [undefined, ...this.#late]) {
      this.#now += 1;
      copy?.();
      for (const own of this.#transactions) {
        if (own.state === "committed") this.#installOf(own);
        this.#cleanUpOf(own);
      }
    }
    for (const own of this.#transactions) {
      if (own.state !== "committed") continue;
      const voted = own.fences.get(JSON.stringify(own.stamp));
      assert(voted !== undefined, "what was voted is an identity that was fenced");
      this.#events.push({ who: own.id, at: voted, effect: this.#effectOf(own) });
    }
    for (const own of this.#transactions) this.#judgeOne(own);
    const shown = this.#item;
    const expected = this.#valueBefore(Number.POSITIVE_INFINITY);
    const said = JSON.stringify({ shown: valueOf(shown), expected });
    assert(JSON.stringify(valueOf(shown)) === JSON.stringify(expected), `I10: lost: ${said}`);
    assert(shown === undefined || fenceOf(shown) === undefined, "no fence is left");
    assert(shown === undefined || !isHidden(shown, table), "no placeholder is left");
  }

  #judgeOne({ id, got, local, state }: Transaction): void {
    const places = this.#events.filter(({ who }) => who === id);
    assert(places.length <= 1, "a transaction is committed once");
    if (local === "committed") assert(places.length === 1, "who was told so is committed");
    if (local === "changed") assert(places.length === 0, "who was told so is not committed");
    if (local === "refer" && state !== "committed") {
      assert(places.length === 0, "who was told to prepare has not written");
    }
    const [place] = places;
    if (place === undefined || got === undefined) return;
    const then = this.#valueBefore(place.at);
    const said = JSON.stringify({ got, then });
    assert(JSON.stringify(got) === JSON.stringify(then), `I10: a read was not true: ${said}`);
  }
}
