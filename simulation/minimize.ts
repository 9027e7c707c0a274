/**
 * Makes a failing run smaller: fewer transactions, fewer clients, fewer faults, fewer strikes, as
 * long as it still fails in the same way. Each fault draws from its own randomness, so that taking
 * one away leaves the rest of the run alone as far as can be ("delta debugging", Zeller and
 * Hildebrandt 2002, one element at a time).
 */
import { runSeeds } from "./seed-pool.ts";
import { hashBitsMax, type SeedPlan } from "./seed-plan.ts";
import type { FaultName } from "../testing/kernel/faults.ts";

/** Whether a plan fails as the first one did. */
export type StillFails = (plan: SeedPlan) => Promise<boolean>;

/** Of a finding, what kind it is: its text up to the first colon, numbers left out. */
export function kindOf(finding: string): string {
  return (finding.split(":")[0] ?? "").replace(/\d+/gu, "#");
}

/** Runs plans in a process of their own. @param kind of the finding that must come again. */
export function failsLike(file: string, kind: string): StillFails {
  return async (plan) => {
    for await (const result of runSeeds(file, [{ seed: plan.seed, changes: plan }], 1)) {
      if (result.kind === "lost") return kindOf(result.reason) === kind;
      return result.answer.report.findings.some((finding) => kindOf(finding) === kind);
    }
    return false;
  };
}

/** @param runsMax bounds the tries; the smallest failing plan so far is returned. */
export async function minimized(
  plan: SeedPlan,
  stillFails: StillFails,
  runsMax: number,
): Promise<SeedPlan> {
  const search = new Search(plan, stillFails, runsMax);
  await search.shrink("transactions", 5);
  await search.shrink("clients", 1);
  await search.shrink("lanes", 1);
  for (const name of Object.keys(plan.faults) as FaultName[]) await search.without(name);
  await search.withWholeHashes();
  await search.boundStrikes();
  await search.shrink("transactions", 1);
  return search.smallest;
}

class Search {
  smallest: SeedPlan;
  readonly #stillFails: StillFails;
  #runsLeft: number;

  constructor(plan: SeedPlan, stillFails: StillFails, runsMax: number) {
    this.smallest = plan;
    this.#stillFails = stillFails;
    this.#runsLeft = runsMax;
  }

  /** Halves the number as long as the plan fails, then takes smaller steps. */
  async shrink(name: "transactions" | "clients" | "lanes", min: number): Promise<void> {
    for (let step = Math.floor(this.smallest[name] / 2); step >= 1; step = Math.floor(step / 2)) {
      while (this.smallest[name] - step >= min) {
        if (!(await this.#try({ [name]: this.smallest[name] - step }))) break;
      }
    }
  }

  async without(fault: FaultName): Promise<void> {
    const { [fault]: _, ...faults } = this.smallest.faults;
    await this.#try({ faults });
  }

  async withWholeHashes(): Promise<void> {
    if (this.smallest.hashBits < hashBitsMax) await this.#try({ hashBits: hashBitsMax });
  }

  /**
   * The smallest number of strikes, by bisection: what comes after the failure is of no interest.
   */
  async boundStrikes(): Promise<void> {
    let low = 0;
    let high = strikesMax;
    while (low < high && this.#runsLeft > 0) {
      const middle = Math.floor((low + high) / 2);
      if (await this.#try({ strikesMax: middle })) high = middle;
      else low = middle + 1;
    }
  }

  async #try(changes: Partial<SeedPlan>): Promise<boolean> {
    if (this.#runsLeft === 0) return false;
    this.#runsLeft -= 1;
    const smaller = { ...this.smallest, ...changes };
    if (!(await this.#stillFails(smaller))) return false;
    this.smallest = smaller;
    return true;
  }
}

/** Runs rarely see more strikes than this; a plan that needs more is left without a bound. */
const strikesMax = 4_096;
