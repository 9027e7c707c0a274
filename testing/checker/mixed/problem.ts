/**
 * A history with native operations as a problem: points that want one order, items whose writers
 * and readers are known by point, and what each reader may have found. Every committed transaction
 * is one point, or two if it has a snapshot; every native operation is one
 * (docs/formats/history.md, "Native operations").
 */
import { EdgeList, edgeKinds } from "../graph.ts";
import { memberAt, nothing, versionAt, type Model } from "../model.ts";

/** Stands for "nothing was there yet" where a writer may stand. */
export const beginning = -1;

export type ItemWriter = {
  readonly member: number;
  readonly isDeletion: boolean;
  /** False: nobody knows whether it took effect. */
  readonly isCertain: boolean;
};

export type ItemRead = {
  /** Where it looked. */
  readonly point: number;
  /** Undefined: it is the look at the end. */
  readonly member: number | undefined;
  readonly item: number;
  /** Whose write it may have found: indices of writers, or `beginning`. Grows smaller. */
  candidates: readonly number[];
  /** Whether it found nothing. */
  readonly isAbsent: boolean;
};

export type Item = {
  /** Number of its key in the model. */
  readonly key: number;
  readonly writers: readonly ItemWriter[];
  /** Index by member. */
  readonly writerOf: ReadonlyMap<number, number>;
  /** Whether a statement of what was there before the run names it. */
  readonly isStated: boolean;
};

export class Problem {
  readonly model: Model;
  readonly edges = new EdgeList();
  readonly items: readonly Item[];
  readonly reads: ItemRead[] = [];
  #nodes: number;

  constructor(model: Model) {
    this.model = model;
    this.#nodes = 2 * model.members.length;
    this.items = itemsOf(model);
    this.#addReads();
    this.#addWithin();
    this.#addInitial();
  }

  /** Points are numbered as in `DependencyBuilder`: 2 i and 2 i + 1 of member i, then others. */
  get nodes(): number {
    return this.#nodes;
  }

  newNode(): number {
    this.#nodes += 1;
    return this.#nodes - 1;
  }

  readPoint(member: number): number {
    return 2 * member;
  }

  commitPoint(member: number): number {
    return this.hasSnapshot(member) ? 2 * member + 1 : 2 * member;
  }

  hasSnapshot(member: number): boolean {
    return memberAt(this.model, member).transaction.isolation === "snapshot";
  }

  /** Unknown, and nothing shows that it took effect. */
  isOptional(member: number): boolean {
    const { transaction, takesEffect } = memberAt(this.model, member);
    return transaction.status === "unknown" && !takesEffect;
  }

  /** Enters a look at an item: all writers that may have left what it found. */
  addRead(read: Omit<ItemRead, "candidates">, found: (writer: ItemWriter) => boolean): void {
    const item = this.items[read.item];
    if (item === undefined) return;
    const candidates = item.writers.flatMap((writer, i) =>
      writer.member !== read.member && found(writer) ? [i] : [],
    );
    if (read.isAbsent && (!item.isStated || candidates.length === 0)) candidates.unshift(beginning);
    this.reads.push({ ...read, candidates });
  }

  #addReads(): void {
    const { model } = this;
    model.members.forEach(({ takesEffect, reads, others }, member) => {
      if (!takesEffect && !this.isOptional(member)) return;
      const point = this.readPoint(member);
      for (const [item, version] of reads) {
        const isAbsent = version === nothing;
        const writer = isAbsent ? undefined : versionAt(model, version).member;
        // A finding already.
        if (takesEffect && writer !== undefined && isAborted(model, writer)) continue;
        this.addRead({ point, member, item, isAbsent }, (each) =>
          isAbsent ? each.isDeletion : each.member === writer,
        );
      }
      for (const [item, version] of others) {
        const writer = version === nothing ? undefined : versionAt(model, version).member;
        const isAbsent = writer !== undefined;
        this.addRead({ point, member, item, isAbsent }, (each) =>
          isAbsent ? each.member !== writer : !each.isDeletion,
        );
      }
    });
  }

  #addWithin(): void {
    this.model.members.forEach((_member, i) => {
      if (this.hasSnapshot(i)) {
        this.edges.add(this.readPoint(i), this.commitPoint(i), edgeKinds.within);
      }
    });
  }

  /** What states the beginning comes before everything. */
  #addInitial(): void {
    const { members } = this.model;
    const isInitial = (i: number): boolean => members[i]?.transaction.kind === "init";
    const initial = members.flatMap((_member, i) => (isInitial(i) ? [i] : []));
    if (initial.length === 0) return;
    const node = this.newNode();
    for (const i of initial) this.edges.add(this.commitPoint(i), node, edgeKinds.initial);
    members.forEach((_member, i) => {
      if (!isInitial(i)) this.edges.add(node, this.readPoint(i), edgeKinds.onward);
    });
  }
}

function isAborted(model: Model, member: number): boolean {
  return memberAt(model, member).transaction.status === "abort";
}

function itemsOf(model: Model): readonly Item[] {
  const writers: ItemWriter[][] = model.keys.map(() => []);
  model.members.forEach(({ transaction, takesEffect, writes }, member) => {
    if (!takesEffect && transaction.status !== "unknown") return;
    for (const [key, version] of writes) {
      const { isDeletion } = versionAt(model, version);
      writers[key]?.push({ member, isDeletion, isCertain: takesEffect });
    }
  });
  return writers.map((each, key) => ({
    key,
    writers: each,
    writerOf: new Map(each.map(({ member }, i) => [member, i])),
    isStated: each.some(({ member }) => memberAt(model, member).transaction.kind === "init"),
  }));
}
