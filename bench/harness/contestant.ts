/**
 * What runs a workload: a way to make transactions of its operations, and where it finds its
 * stores.
 */
import type { Phases } from "../../sdk/index.ts";
import type { BenchTable, BenchTransaction, Operation } from "./workload.ts";

/** Tidemark by its ways to commit: each named, whatever the SDK does unless it is told. */
export const tidemarkContestants = [
  "tidemark-auto",
  "tidemark-stream",
  "tidemark-express",
] as const;
/**
 * Beside those, for the evaluation of the Mediator paper: on mixed tables, single operations as
 * native calls; and snapshot isolation. All commit express.
 */
export const mixedContestants = ["tidemark-mixed", "tidemark-mixed-snapshot"] as const;
const inProcessContestants = [
  ...tidemarkContestants,
  "tidemark-snapshot",
  ...mixedContestants,
  "native",
  "native-in-turn",
  "transact-write-items",
] as const;
export const contestantNames = [...inProcessContestants, "scalardb"] as const;

export type TidemarkContestant =
  | (typeof tidemarkContestants)[number]
  | "tidemark-snapshot"
  | (typeof mixedContestants)[number];
export type InProcessContestant = (typeof inProcessContestants)[number];
export type ContestantName = (typeof contestantNames)[number];

/** Where everything is. Without endpoints: AWS. */
export type BenchTarget = {
  readonly deployment: string;
  readonly region: string;
  readonly endpoints: { readonly dynamodb: string; readonly kinesis: string } | undefined;
};

/** What became of one operation; what fails instead throws. */
export type Outcome = {
  readonly kind: "committed" | "rolled-back";
  /** Runs of the body, the first included. */
  readonly attempts: number;
  readonly phases?: Phases;
};

export type ContestantClient = {
  run(operation: Operation): Promise<Outcome>;
  /** Reads of what stands in the tables, by the contestant's own means. */
  read<Result>(body: (read: BenchTransaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
};

const others: readonly ContestantName[] = [
  ...(["native", "native-in-turn", "transact-write-items", "scalardb"] as const),
];

export function isTidemark(name: ContestantName): name is TidemarkContestant {
  return !others.includes(name);
}

/** Whose tables native operations write beside transactions. */
export function isMixed(name: ContestantName): boolean {
  return mixedContestants.some((known) => known === name);
}

/** Each contestant has tables of its own: what one stores, another would take for damage. */
export function physicalName(contestant: ContestantName, table: BenchTable): string {
  return `bench-${contestant}-${table.name}`;
}

/** The operation gave up after conflicts; counted as a failure, and as that many attempts. */
export class GaveUp extends Error {
  override readonly name = "GaveUp";
  readonly attempts: number;
  constructor(message: string, attempts: number, options?: ErrorOptions) {
    super(message, options);
    this.attempts = attempts;
  }
}
