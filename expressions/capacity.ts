/**
 * Capacity as DynamoDB's documentation counts it: a read unit for each 4 KB, half of one where the
 * read may be stale; a write unit for each 1 KB; both twice in a transaction.
 */

type Capacity = {
  readonly CapacityUnits: number;
  readonly ReadCapacityUnits?: number;
  readonly WriteCapacityUnits?: number;
};

export type ConsumedCapacity = Capacity & {
  readonly TableName: string;
  Table?: Capacity;
  GlobalSecondaryIndexes?: Record<string, Capacity>;
  LocalSecondaryIndexes?: Record<string, Capacity>;
};

const readUnitBytes = 4_096;
const writeUnitBytes = 1_024;

/** How a request's reads count. */
export type ReadKind = "eventual" | "consistent" | "transactional";

/** At least one unit's worth: looking costs, whatever is found. */
export function readUnits(bytes: number, kind: ReadKind): number {
  const units = Math.max(1, Math.ceil(bytes / readUnitBytes));
  return kind === "eventual" ? units / 2 : kind === "consistent" ? units : units * 2;
}

export function writeUnits(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / writeUnitBytes));
}

export type CapacityLevel = "INDEXES" | "TOTAL" | "NONE" | undefined;

/** Units of one request on one table. */
export class CapacityCount {
  readonly #table: string;
  #tableUnits = 0;
  readonly #indexUnits = new Map<
    string,
    { readonly kind: "global" | "local"; readonly units: number }
  >();

  constructor(table: string) {
    this.#table = table;
  }

  addTable(units: number): void {
    this.#tableUnits += units;
  }

  addIndex(
    index: { readonly name: string; readonly kind: "global" | "local" },
    units: number,
  ): void {
    const before = this.#indexUnits.get(index.name)?.units ?? 0;
    this.#indexUnits.set(index.name, { kind: index.kind, units: before + units });
  }

  /**
   * What the request asked to be told; `both` names read and write units too, as transactions do.
   */
  report(level: CapacityLevel, both?: "read" | "write"): ConsumedCapacity | undefined {
    if (level !== "TOTAL" && level !== "INDEXES") return undefined;
    let total = this.#tableUnits;
    for (const { units } of this.#indexUnits.values()) total += units;
    const consumed: ConsumedCapacity = {
      TableName: this.#table,
      ...capacity(total, both),
    };
    if (level === "TOTAL") return consumed;
    consumed.Table = capacity(this.#tableUnits, both);
    for (const kind of ["global", "local"] as const) {
      const units = [...this.#indexUnits].filter(([, each]) => each.kind === kind);
      if (units.length === 0) continue;
      const entries = Object.fromEntries(
        units.map(([name, each]) => [name, capacity(each.units, both)]),
      );
      if (kind === "global") consumed.GlobalSecondaryIndexes = entries;
      else consumed.LocalSecondaryIndexes = entries;
    }
    return consumed;
  }
}

function capacity(units: number, both: "read" | "write" | undefined): Capacity {
  if (both === undefined) return { CapacityUnits: units };
  return both === "read"
    ? { CapacityUnits: units, ReadCapacityUnits: units }
    : { CapacityUnits: units, WriteCapacityUnits: units };
}
