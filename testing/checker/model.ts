/**
 * A history in numbers: transactions, keys and versions by index, what each transaction read from
 * others and what it left behind, and which of the unknown ones count. What is wrong with a single
 * read is found on the way.
 */
import { assert } from "../../core/assert.ts";
import type { Findings } from "./findings.ts";
import { isWrite, type History, type HistoryTransaction } from "../history/types.ts";

/** What stands for a read of nothing in place of a version. */
export const nothing = -1;

/** Of all but a few: one for all of them. */
const noOthers: ReadonlyMap<number, number> = new Map();

export type Member = {
  readonly transaction: HistoryTransaction;
  /** Committed, or unknown and known to be committed by what it left. */
  takesEffect: boolean;
  /**
   * By key: the version that it read first, before it wrote the key itself; `nothing` where there
   * was nothing.
   */
  readonly reads: ReadonlyMap<number, number>;
  /**
   * By key: a version that it did not find, as all that a native operation was told; `nothing`
   * where it found something.
   */
  readonly others: ReadonlyMap<number, number>;
  /** By key: the version that it wrote last. */
  readonly writes: ReadonlyMap<number, number>;
};

export type VersionFacts = {
  readonly name: string;
  readonly key: number;
  /** Index of its writer. */
  readonly member: number;
  readonly isDeletion: boolean;
  /** Not replaced by its own transaction. */
  readonly isFinal: boolean;
};

export type Model = {
  readonly members: readonly Member[];
  readonly keys: readonly string[];
  readonly versions: readonly VersionFacts[];
  readonly keyNumbers: ReadonlyMap<string, number>;
  readonly versionNumbers: ReadonlyMap<string, number>;
};

/** Reports duplicates, garbage, internal inconsistency, G1a and G1b. */
export function buildModel(
  history: History,
  options: { readonly abortedReads: boolean; readonly findings: Findings },
): Model {
  const building = new Building(history, options.findings);
  const members = history.transactions.map((transaction, index) =>
    building.member(transaction, index),
  );
  const model = { members, ...building.tables() };
  settleUnknown(model, history);
  judgeReads(model, options);
  return model;
}

/** The transaction of that index. */
export function memberAt(model: Model, index: number): Member {
  const member = model.members[index];
  assert(member !== undefined, "checker: an index of a transaction");
  return member;
}

export function versionAt(model: Model, version: number): VersionFacts {
  const facts = model.versions[version];
  assert(facts !== undefined, "checker: an index of a version");
  return facts;
}

export function keyAt(model: Model, key: number): string {
  return model.keys[key] ?? "";
}

class Building {
  readonly #findings: Findings;
  readonly #keys: string[] = [];
  readonly #keyNumbers = new Map<string, number>();
  readonly #versions: VersionFacts[] = [];
  readonly #versionNumbers = new Map<string, number>();

  constructor(history: History, findings: Findings) {
    this.#findings = findings;
    const ids = new Set<string>();
    history.transactions.forEach((transaction, index) => {
      if (ids.has(transaction.id)) {
        findings.add(
          "duplicate",
          [transaction.id],
          `two transactions are called ${transaction.id}`,
        );
      }
      ids.add(transaction.id);
      this.#enterVersions(transaction, index, history);
    });
  }

  tables(): Omit<Model, "members"> {
    return {
      keys: this.#keys,
      versions: this.#versions,
      keyNumbers: this.#keyNumbers,
      versionNumbers: this.#versionNumbers,
    };
  }

  /** Needs all versions entered: a read may come before its writer in the file. */
  member(transaction: HistoryTransaction, index: number): Member {
    const reads = new Map<number, number>();
    const others = new Map<number, number>();
    const own = new Map<number, number>();
    for (const [kind, keyName, versionName] of transaction.ops) {
      const key = this.#key(keyName);
      if (kind === "x") {
        const version = versionName === null ? nothing : this.#versionNumbers.get(versionName);
        if (version !== undefined && !own.has(key) && this.#mayBeFound(version)) {
          others.set(key, version);
        }
      } else if (kind === "r") {
        this.#read({ transaction, index, key, versionName, reads, own });
      } else {
        const version = this.#versionNumbers.get(versionName);
        // A version given twice belongs to the first who gave it.
        if (version !== undefined && this.#versions[version]?.member === index) {
          own.set(key, version);
        }
      }
    }
    return {
      transaction,
      takesEffect: transaction.status === "commit",
      reads,
      others: others.size === 0 ? noOthers : others,
      writes: own,
    };
  }

  /** What was never left there, nobody finds: not to have found it says nothing. */
  #mayBeFound(version: number): boolean {
    const facts = this.#versions[version];
    return facts === undefined || (facts.isFinal && !facts.isDeletion);
  }

  #read(step: {
    readonly transaction: HistoryTransaction;
    readonly index: number;
    readonly key: number;
    readonly versionName: string | null;
    readonly reads: Map<number, number>;
    readonly own: ReadonlyMap<number, number>;
  }): void {
    const { transaction, index, key, versionName, reads, own } = step;
    const counts = transaction.status !== "abort";
    const version = versionName === null ? nothing : this.#versionNumbers.get(versionName);
    const facts = version === undefined ? undefined : this.#versions[version];
    const report = (anomaly: "internal" | "garbage read", problem: string): void => {
      if (!counts) return;
      const what = `${transaction.id} read ${this.#keys[key] ?? ""} = ${versionName ?? "nothing"}`;
      this.#findings.add(anomaly, [transaction.id], `${what}, ${problem}`);
    };
    if (version === undefined || (facts !== undefined && facts.key !== key)) {
      report("garbage read", "which nobody wrote to that key");
      return;
    }
    if (facts?.isDeletion === true) {
      report("garbage read", "which is the name of a deletion");
      return;
    }
    const ownVersion = own.get(key);
    if (ownVersion !== undefined) {
      const shown = this.#versions[ownVersion]?.isDeletion === true ? nothing : ownVersion;
      if (version !== shown) {
        report(
          "internal",
          `though it had written ${this.#versions[ownVersion]?.name ?? ""} itself`,
        );
      }
      return;
    }
    if (facts?.member === index) {
      report("internal", "which it wrote itself only afterwards");
      return;
    }
    const earlier = reads.get(key);
    if (earlier === undefined) reads.set(key, version);
    else if (earlier !== version) {
      const before = earlier === nothing ? "nothing" : (this.#versions[earlier]?.name ?? "");
      report("internal", `where it had read ${before} before`);
    }
  }

  #enterVersions(transaction: HistoryTransaction, member: number, history: History): void {
    const last = new Map<string, string>();
    for (const [, key, version] of transaction.ops.filter(isWrite)) last.set(key, version);
    for (const op of transaction.ops) {
      const keyNumber = this.#key(op[1]);
      if (!isWrite(op)) continue;
      const [kind, key, name] = op;
      const known = this.#versionNumbers.get(name);
      if (known !== undefined) {
        this.#judgeDuplicate(transaction, { name, key: keyNumber, known }, history);
        continue;
      }
      this.#versionNumbers.set(name, this.#versions.length);
      const isFinal = last.get(key) === name;
      this.#versions.push({ name, key: keyNumber, member, isDeletion: kind === "d", isFinal });
    }
  }

  #judgeDuplicate(
    transaction: HistoryTransaction,
    version: { readonly name: string; readonly key: number; readonly known: number },
    history: History,
  ): void {
    const facts = this.#versions[version.known];
    const other = facts === undefined ? undefined : history.transactions[facts.member];
    if (facts === undefined || other === undefined) return;
    // What was there before the run may be stated by each of several recorders.
    const isRestated =
      transaction.kind === "init" && other.kind === "init" && facts.key === version.key;
    if (isRestated && transaction !== other) return;
    const who = [...new Set([other.id, transaction.id])];
    this.#findings.add("duplicate", who, `version ${version.name} was written twice`);
  }

  #key(name: string): number {
    let number = this.#keyNumbers.get(name);
    if (number === undefined) {
      number = this.#keys.push(name) - 1;
      this.#keyNumbers.set(name, number);
    }
    return number;
  }
}

/**
 * An unknown transaction is committed if something of it is in the stores, or was read by one that
 * is committed.
 */
function settleUnknown(model: Model, history: History): void {
  const settled: Member[] = [];
  const settle = (version: number | undefined): void => {
    const writer = version === undefined ? undefined : model.versions[version]?.member;
    const member = writer === undefined ? undefined : model.members[writer];
    if (member?.transaction.status !== "unknown" || member.takesEffect) return;
    member.takesEffect = true;
    settled.push(member);
  };
  for (const { versions } of history.versionOrder ?? []) {
    for (const name of versions) settle(model.versionNumbers.get(name));
  }
  for (const { version } of history.finalState ?? []) {
    if (version !== null) settle(model.versionNumbers.get(version));
  }
  for (const { takesEffect, reads } of model.members) {
    if (takesEffect) for (const version of reads.values()) settle(version);
  }
  for (let member = settled.pop(); member !== undefined; member = settled.pop()) {
    for (const version of member.reads.values()) settle(version);
  }
}

function judgeReads(
  model: Model,
  options: { readonly abortedReads: boolean; readonly findings: Findings },
): void {
  for (const { transaction, takesEffect, reads } of model.members) {
    if (!takesEffect && !(options.abortedReads && transaction.status === "abort")) continue;
    for (const [key, version] of reads) {
      if (version === nothing) continue;
      const facts = versionAt(model, version);
      const writer = memberAt(model, facts.member).transaction;
      const what = `${transaction.id} read ${keyAt(model, key)} = ${facts.name}`;
      if (writer.status === "abort") {
        const problem = `${what}, which ${writer.id} had written and then aborted`;
        options.findings.add("G1a", [transaction.id, writer.id], problem);
      } else if (!facts.isFinal) {
        const problem = `${what}, which ${writer.id} replaced before it committed`;
        options.findings.add("G1b", [transaction.id, writer.id], problem);
      }
    }
  }
}
