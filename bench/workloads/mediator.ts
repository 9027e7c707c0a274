/**
 * The mix of the Mediator paper's evaluation (Bortnikov et al., SYSTOR 2014): rows of 1 KB, chosen
 * by Zipf's law; a share ν of operations is native, one get or one put each; the others are
 * transactions of 1 to n accesses, all sizes alike; a share ρ of all accesses reads, the others
 * write without having read.
 */
import type {
  BenchItem,
  BenchRandom,
  BenchTable,
  Operation,
  Workload,
} from "../harness/workload.ts";
import { scattered, zipfRanks } from "./zipf.ts";

const rowCount = 10_000;
const rowBytes = 1_000;
const contents = Array.from({ length: 26 }, (_, n) => String.fromCharCode(97 + n).repeat(rowBytes));

export type MediatorMix = {
  /** Transactions have 1 to so many accesses: U1, U4, U20. */
  readonly accessesMax: number;
  /** ρ, from 0 to 1. */
  readonly readShare: number;
  /** ν, from 0 to 1. */
  readonly nativeShare: number;
  /** Rows of its own, which no other mix touches. Default: one table for all. */
  readonly aside?: boolean;
};

/** How such names look, for whoever mistypes one. */
export const mediatorNames = "mediator-u<n>-<ρ>-<ν>";

/** As on the command line: `mediator-u4-0.5-0.2` for ρ = 0.5 and ν = 0.2. */
export function mediatorName({ accessesMax, readShare, nativeShare, aside }: MediatorMix): string {
  return `mediator${aside === true ? "-aside" : ""}-u${accessesMax}-${readShare}-${nativeShare}`;
}

const namePattern = /^mediator(-aside)?-u(\d{1,2})-(0|1|0\.\d{1,2})-(0|1|0\.\d{1,2})$/;

/** Undefined: no mix has that name. */
export function mediatorNamed(name: string): MediatorMix | undefined {
  const found = namePattern.exec(name);
  if (found === null || Number(found[2]) === 0) return undefined;
  return {
    accessesMax: Number(found[2]),
    readShare: Number(found[3]),
    nativeShare: Number(found[4]),
    aside: found[1] !== undefined,
  };
}

export function mediator(mix: MediatorMix): Workload {
  const { accessesMax, readShare, nativeShare, aside } = mix;
  const table: BenchTable = {
    name: aside === true ? "mediator-aside" : "mediator",
    partitionKey: { name: "id", type: "N" },
  };
  const rank = zipfRanks(rowCount);
  const draw = (random: BenchRandom): number => scattered(rank(random), rowCount);
  return {
    name: mediatorName(mix),
    description:
      `Mediator's mix: 1 to ${accessesMax} accesses, ${percent(readShare)} reads, ` +
      `${percent(nativeShare)} of operations native`,
    tables: [table],
    *rows() {
      for (let id = 0; id < rowCount; id += 1) yield { table, item: rowOf(id, id) };
    },
    next(random) {
      const access = (id: number): Access => ({
        row: rowOf(id, random.below(contents.length)),
        reads: random.fraction() < readShare,
      });
      if (random.fraction() < nativeShare) return nativeOperation(table, access(draw(random)));
      const ids = new Set<number>();
      const size = 1 + random.below(accessesMax);
      while (ids.size < size) ids.add(draw(random));
      return transaction(table, [...ids].map(access));
    },
  };
}

type Access = { readonly row: BenchItem & { readonly id: number }; readonly reads: boolean };

function nativeOperation(table: BenchTable, { row, reads }: Access): Operation {
  return {
    name: reads ? "native read" : "native write",
    readOnly: reads,
    native: true,
    body: async (tx) => {
      if (reads) await tx.get(table, { id: row.id });
      else tx.put(table, row);
    },
  };
}

function transaction(table: BenchTable, accesses: readonly Access[]): Operation {
  const read = accesses.flatMap(({ row, reads }) => (reads ? [{ id: row.id }] : []));
  const written = accesses.flatMap(({ row, reads }) => (reads ? [] : [row]));
  return {
    name: "transaction",
    readOnly: written.length === 0,
    body: async (tx) => {
      if (read.length > 0) await tx.batchGet(table, read);
      for (const row of written) tx.put(table, row);
    },
  };
}

function rowOf(id: number, content: number): Access["row"] {
  return { id, content: contents[content % contents.length] };
}

function percent(share: number): string {
  return `${Math.round(share * 100).toString()} %`;
}
