/**
 * The graph of what had to come before what. Each transaction is a point in time if it is
 * serializable, and two points if it has a snapshot: one at which it reads, and a later one at
 * which it writes. An edge says that one point lies before another:
 *
 *   ww  the writer of a version commits before the writer of the next one commits; before its
 *       snapshot if it has one, since the first committer wins
 *   wr  the writer commits before the reader reads
 *   rw  the reader reads before the writer of the next version commits
 *   real time: what had ended came before what then began
 *
 * A history is legal exactly if the points can be put in one order, that is, if the graph has no
 * cycle. For serializable transactions alone this is Adya's direct serialization graph (PL-3); for
 * snapshot transactions his start-ordered one with G-SIa and G-SIb, over every order of starts and
 * commits that there may have been (PL-SI); mixed, each transaction gets the edges that its own
 * level owes it (Adya, Liskov, O'Neil 2000, §5.4, mixing-correct histories).
 */
import { edgeKinds, EdgeList, type EdgeKind } from "./graph.ts";
import { memberAt, nothing, versionAt, type Member, type Model } from "./model.ts";
import type { Entry, KeyOrder } from "./version-order.ts";

/** Which transactions have two points. */
export type Levels = "as-asked" | "all-serializable";

/** A read of nothing that may have followed the beginning or any of several deletions. */
export type NullRead = {
  readonly member: number;
  readonly key: number;
  /** Indices of the deletions in the key's only segment; -1: the beginning. Oldest first. */
  readonly candidates: readonly number[];
};

/**
 * For each ambiguous read, the candidate that it is taken for; undefined: it may be any, and binds
 * nothing.
 */
export type Choices = ReadonlyMap<NullRead, number | undefined>;

export function readPoint(member: number): number {
  return 2 * member;
}

function commitPoint(model: Model, member: number, levels: Levels): number {
  const { isolation } = memberAt(model, member).transaction;
  return isolation === "snapshot" && levels === "as-asked" ? 2 * member + 1 : 2 * member;
}

/** The transaction of a point; undefined for an auxiliary node. */
export function memberOfPoint(model: Model, point: number): number | undefined {
  return point < 2 * model.members.length ? point >> 1 : undefined;
}

export class DependencyBuilder {
  readonly edges = new EdgeList();
  readonly #model: Model;
  readonly #orders: readonly KeyOrder[];
  readonly #levels: Levels;
  #nodes: number;
  /** Where the entry of each version stands: segment and index in it. */
  readonly #places: ReadonlyMap<number, readonly [segment: number, index: number]>;

  constructor(
    model: Model,
    orders: readonly KeyOrder[],
    options: {
      readonly levels: Levels;
      readonly counts: (member: Member) => boolean;
      readonly nullReads: readonly NullRead[];
      readonly choices: Choices;
    },
  ) {
    this.#model = model;
    this.#orders = orders;
    this.#levels = options.levels;
    this.#nodes = 2 * model.members.length;
    this.#places = placesOf(orders);
    this.#addWithin(options.counts);
    const starts = orders.map((order, key) => this.#addOrder(order, key));
    this.#addReads(options, starts);
    this.#addInitial();
  }

  /** Points are numbers: `2 i` and `2 i + 1` of transaction i, then auxiliary nodes. */
  get nodes(): number {
    return this.#nodes;
  }

  newNode(): number {
    this.#nodes += 1;
    return this.#nodes - 1;
  }

  commitPoint(member: number): number {
    return commitPoint(this.#model, member, this.#levels);
  }

  #addWithin(counts: (member: Member) => boolean): void {
    this.#model.members.forEach((member, i) => {
      if (!counts(member)) return;
      const commit = this.commitPoint(i);
      if (commit !== readPoint(i)) this.edges.add(readPoint(i), commit, edgeKinds.within);
    });
  }

  /**
   * @returns the node before which the key's beginning lies, and after which all else; only for
   * several segments.
   */
  #addOrder({ segments }: KeyOrder, key: number): number | undefined {
    for (const segment of segments) {
      segment.forEach((entry, i) => {
        const before = segment[i - 1];
        if (before !== undefined) this.#addOverwrite(before, entry, key);
      });
    }
    if (segments.length < 2) return undefined;
    const start = this.newNode();
    for (const segment of segments.slice(1)) {
      const head = segment[0];
      if (head === undefined) continue;
      // Its commit alone: who read the beginning need not have read it before the writer's
      // snapshot.
      this.edges.add(start, this.commitPoint(head.member), edgeKinds.onward);
    }
    const first = segments[0]?.[0];
    if (first !== undefined && this.#isInitial(first)) {
      this.edges.add(this.commitPoint(first.member), start, edgeKinds.ww, key);
    }
    return start;
  }

  #addOverwrite(before: Entry, entry: Entry, key: number): void {
    if (before.member === entry.member) return;
    const from = this.commitPoint(before.member);
    // Before its snapshot, if it has one: the first committer wins.
    this.edges.add(from, readPoint(entry.member), edgeKinds.ww, key);
  }

  #isInitial({ member }: Pick<Entry, "member">): boolean {
    return memberAt(this.#model, member).transaction.kind === "init";
  }

  #addReads(
    options: {
      readonly counts: (member: Member) => boolean;
      readonly nullReads: readonly NullRead[];
      readonly choices: Choices;
    },
    starts: readonly (number | undefined)[],
  ): void {
    this.#model.members.forEach((member, reader) => {
      if (!options.counts(member)) return;
      for (const [key, version] of member.reads) {
        if (version === nothing) continue;
        const facts = versionAt(this.#model, version);
        const writer = memberAt(this.#model, facts.member);
        if (!writer.takesEffect) continue;
        const from = this.commitPoint(facts.member);
        this.edges.add(from, readPoint(reader), edgeKinds.wr, key);
        const place = this.#places.get(version);
        if (place === undefined) continue;
        const [segment, index] = place;
        this.#addAntiDependency(reader, { key, segment, index, kind: edgeKinds.rw });
        const start = starts[key];
        if (start !== undefined && segment === 0 && this.#isInitial(facts)) {
          this.edges.add(readPoint(reader), start, edgeKinds.rw, key);
        }
      }
    });
    for (const read of options.nullReads)
      this.#addNullRead(read, options.choices.get(read), starts);
  }

  #addNullRead(
    { member: reader, key }: NullRead,
    chosen: number | undefined,
    starts: readonly (number | undefined)[],
  ): void {
    if (chosen === undefined) return;
    const kind = edgeKinds.rwAbsent;
    const deletion = chosen < 0 ? undefined : this.#orders[key]?.segments[0]?.[chosen];
    if (deletion !== undefined && deletion.member !== reader) {
      const from = this.commitPoint(deletion.member);
      this.edges.add(from, readPoint(reader), edgeKinds.wr, key);
    }
    this.#addAntiDependency(reader, { key, segment: 0, index: chosen, kind });
    const start = starts[key];
    if (start !== undefined && chosen < 0) this.edges.add(readPoint(reader), start, kind, key);
  }

  /** From the reader of an entry to the writer of the one after it. */
  #addAntiDependency(
    reader: number,
    of: {
      readonly key: number;
      readonly segment: number;
      readonly index: number;
      readonly kind: EdgeKind;
    },
  ): void {
    const next = this.#orders[of.key]?.segments[of.segment]?.[of.index + 1];
    if (next === undefined || next.member === reader) return;
    this.edges.add(readPoint(reader), this.commitPoint(next.member), of.kind, of.key);
  }

  /** What states the beginning comes before everything. */
  #addInitial(): void {
    const { members } = this.#model;
    const initial = members.flatMap(({ transaction }, i) =>
      transaction.kind === "init" ? [i] : [],
    );
    if (initial.length === 0) return;
    const node = this.newNode();
    for (const i of initial) this.edges.add(this.commitPoint(i), node, edgeKinds.initial);
    members.forEach(({ transaction, takesEffect }, i) => {
      if (transaction.kind === "init" || !takesEffect) return;
      this.edges.add(node, readPoint(i), edgeKinds.onward);
    });
  }
}

function placesOf(
  orders: readonly KeyOrder[],
): ReadonlyMap<number, readonly [segment: number, index: number]> {
  const places = new Map<number, readonly [number, number]>();
  for (const { segments } of orders) {
    segments.forEach((segment, s) => {
      segment.forEach(({ version }, i) => places.set(version, [s, i]));
    });
  }
  return places;
}
