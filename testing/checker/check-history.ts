/**
 * The judge: is a history what its transactions asked for? Serializable ones must fit into one
 * serial order, snapshot ones read one state and overwrite nothing that was committed since; with
 * `strict`, all of it in the order of real time.
 *
 * It believes nobody: neither what the database says of itself (timestamps are a check of their
 * own), nor what it would be convenient to assume. A finding is certain, given the order of
 * versions; where the history does not determine that order, only what follows from the rest is
 * found, and the report says how much was left undecided.
 */
import { judgeMixed } from "./mixed/judge-mixed.ts";
import { isOwnCycle, nativeKeys, withoutNative } from "./mixed/own-items.ts";
import type { History } from "../history/types.ts";
import { addRealTime, addTimestamps } from "./clock-order.ts";
import { CycleSearch } from "./cycles.ts";
import { DependencyBuilder, type Choices, type Levels, type NullRead } from "./dependencies.ts";
import { describeCycle } from "./describe-cycle.ts";
import { Findings, type Finding } from "./findings.ts";
import { buildModel, type Member, type Model } from "./model.ts";
import {
  allChoices,
  certainChoices,
  guessChoices,
  isAmbiguous,
  isTimed,
  nullReadsOf,
} from "./null-reads.ts";
import { versionOrders, type KeyOrder } from "./version-order.ts";

export type CheckOptions = {
  /**
   * Whether the order must be that of real time: whatever had been acknowledged before a
   * transaction began, it sees.
   */
  readonly strict: boolean;
  /**
   * Whether the database's own timestamps, where the history has them, must be such an order.
   * Default true.
   */
  readonly timestamps?: boolean;
  /** Whether aborted transactions, too, must have read one state. Default false. */
  readonly abortedReads?: boolean;
  /**
   * Whether to look for what snapshot transactions did that serializable ones may not. Default
   * false.
   */
  readonly allowed?: boolean;
  /** Findings described; all are counted. Default 100. */
  readonly findingsMax?: number;
};

export type CheckReport = {
  /** Empty for a history that is what it should be. */
  readonly findings: readonly Finding[];
  /** Those beyond `findingsMax` included. */
  readonly findingsCount: number;
  /** Anomalies that the isolation levels asked for allow; empty unless asked for. */
  readonly allowed: readonly Finding[];
  readonly counts: {
    /** Native operations that were answered among them. */
    readonly committed: number;
    /** Native operations, of any status. */
    readonly native: number;
    readonly aborted: number;
    /** Of the unknown ones, those that are known to have been committed, by what they left. */
    readonly unknown: number;
    readonly unknownCommitted: number;
    readonly reads: number;
    readonly writes: number;
  };
  /** What the history leaves open; nothing was found there, and nothing was proved. */
  readonly undecided: {
    /**
     * Keys of whose versions the order is not known in full; with native operations, all keys of a
     * history for which neither an order was found nor shown that there is none.
     */
    readonly keys: number;
    /** Reads of nothing that may have followed several deletions. */
    readonly nullReads: number;
  };
  /** What it took, as a measure of growth: all graphs together. */
  readonly work: { readonly nodes: number; readonly edges: number; readonly visits: number };
};

const findingsMaxDefault = 100;
/** Edges of all the graphs together for which combinations of ambiguous reads are tried out. */
const triedEdgesMax = 4_000_000;

/** @returns what is wrong with the history; the order of transactions in it does not matter. */
export function checkHistory(history: History, options: CheckOptions): CheckReport {
  const findings = new Findings(options.findingsMax ?? findingsMaxDefault);
  const { strict, timestamps = true, abortedReads = false } = options;
  const model = buildModel(history, { abortedReads, findings });
  const keys = nativeKeys(model);
  // Among themselves transactions are judged as ever, on the items that are theirs alone.
  const own = keys.size === 0 ? { model, history } : withoutNative(model, history, keys);
  const orders = versionOrders(own.model, own.history, findings);
  const check = new Check(own.model, orders, { strict, timestamps, abortedReads });
  const cycles = check.cycles();
  for (const finding of cycles) findings.push(finding);
  const mixed =
    keys.size === 0 ? undefined : judgeMixed({ history, model, orders, keys, strict, timestamps });
  for (const finding of mixed?.findings ?? []) {
    if (cycles.length === 0 || !isOwnCycle(model, keys, finding)) findings.push(finding);
  }
  return {
    findings: findings.list,
    findingsCount: findings.count,
    allowed: options.allowed === true ? check.allowed() : [],
    counts: countsOf(model),
    undecided:
      mixed === undefined
        ? {
            keys: orders.filter(({ segments }) => segments.length > 1).length,
            nullReads: check.undecided,
          }
        : { keys: mixed.isUndecided ? model.keys.length : 0, nullReads: 0 },
    work: {
      nodes: check.work.nodes + (mixed?.work.nodes ?? 0),
      edges: check.work.edges + (mixed?.work.edges ?? 0),
      visits: check.work.visits + (mixed?.work.visits ?? 0),
    },
  };
}

/** Which clocks' orders bind. */
type Clocks = { readonly strict: boolean; readonly timestamps: boolean };

type Solved = {
  readonly search: CycleSearch;
  readonly components: readonly (readonly number[])[];
};

class Check {
  undecided = 0;
  readonly work = { nodes: 0, edges: 0, visits: 0 };
  readonly #options: Clocks;
  readonly #model: Model;
  readonly #orders: readonly KeyOrder[];
  readonly #nullReads: readonly NullRead[];
  readonly #counts: (member: Member) => boolean;

  constructor(
    model: Model,
    orders: readonly KeyOrder[],
    options: Clocks & { readonly abortedReads: boolean },
  ) {
    this.#options = options;
    this.#model = model;
    this.#orders = orders;
    this.#counts = ({ transaction, takesEffect }) =>
      takesEffect || (options.abortedReads && transaction.status === "abort");
    this.#nullReads = nullReadsOf(model, orders, this.#counts);
    this.undecided = this.#nullReads.filter(({ candidates }) => candidates.length === 0).length;
  }

  /**
   * Everything at once first: what is legal costs one graph. What is not is taken apart, so that it
   * gets its right name.
   */
  cycles(): readonly Finding[] {
    const { strict, timestamps } = this.#options;
    const all = this.#solve({ strict, timestamps });
    if (all.components.length === 0) return [];
    const plain = this.#solve({ strict: false, timestamps: false });
    const found = this.#describe(plain, new Set());
    if (strict) {
      const known = new Set(plain.components.flat());
      found.push(...this.#describe(this.#solve({ strict, timestamps: false }), known));
    }
    return found.length === 0 && timestamps ? this.#describe(all, new Set()) : found;
  }

  allowed(): readonly Finding[] {
    const asAsked = this.#solve({ strict: false, timestamps: false });
    const known = new Set(asAsked.components.flat());
    const choices = guessChoices(this.#model, this.#orders, this.#nullReads);
    const clocks = { strict: false, timestamps: false };
    return this.#describe(this.#graph(choices, clocks, "all-serializable"), known);
  }

  #describe({ search, components }: Solved, known: ReadonlySet<number>): Finding[] {
    const fresh = components.filter((nodes) => !nodes.some((node) => known.has(node)));
    const before = search.visits;
    const found = fresh.map((nodes) =>
      describeCycle(this.#model, search.graph, search.worstCycle(nodes)),
    );
    this.work.visits += search.visits - before;
    return found;
  }

  /**
   * The graph with the choices for reads of nothing that make the history legal, if there are any.
   */
  #solve(clocks: Clocks): Solved {
    const guessed = this.#graph(
      guessChoices(this.#model, this.#orders, this.#nullReads),
      clocks,
      "as-asked",
    );
    const ambiguous = this.#nullReads.filter(isAmbiguous);
    if (guessed.components.length === 0 || ambiguous.length === 0) return guessed;
    const certain = this.#graph(certainChoices(this.#nullReads), clocks, "as-asked");
    if (certain.components.length > 0) return certain;
    const combinations = ambiguous.reduce((product, read) => product * read.candidates.length, 1);
    if (combinations * certain.search.graph.to.length > triedEdgesMax) {
      const isTold = ambiguous.every((read) => isTimed(this.#model, this.#orders, read));
      if (this.#options.timestamps && isTold) return guessed;
      this.undecided += ambiguous.length;
      return certain;
    }
    for (const choices of allChoices(this.#nullReads)) {
      const tried = this.#graph(choices, clocks, "as-asked");
      if (tried.components.length === 0) return tried;
    }
    return guessed;
  }

  #graph(choices: Choices, clocks: Clocks, levels: Levels): Solved {
    const builder = new DependencyBuilder(this.#model, this.#orders, {
      levels,
      counts: this.#counts,
      nullReads: this.#nullReads,
      choices,
    });
    if (clocks.strict) addRealTime(builder, this.#model, this.#counts);
    if (clocks.timestamps) addTimestamps(builder, this.#model, this.#counts);
    const search = new CycleSearch(builder.edges, builder.nodes);
    const components = search.components();
    this.work.nodes += builder.nodes;
    this.work.edges += builder.edges.length;
    this.work.visits += search.visits;
    return { search, components };
  }
}

function countsOf({ members, versions }: Model): CheckReport["counts"] {
  const count = (is: (member: Member) => boolean): number => members.filter(is).length;
  return {
    committed: count(({ transaction }) => transaction.status === "commit"),
    native: count(({ transaction }) => transaction.kind === "native"),
    aborted: count(({ transaction }) => transaction.status === "abort"),
    unknown: count(({ transaction }) => transaction.status === "unknown"),
    unknownCommitted: count(
      ({ transaction, takesEffect }) => transaction.status === "unknown" && takesEffect,
    ),
    reads: members.reduce((sum, { reads, others }) => sum + reads.size + others.size, 0),
    writes: versions.length,
  };
}
