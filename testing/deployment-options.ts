/** What a simulated deployment is made of. */
import type { IndexDefinition } from "../aws/create-tables.ts";
import type { TableDescription, WantedTable } from "../core/types.ts";

export type TestTable = {
  readonly name: string;
  readonly partitionKey: TableDescription["partitionKey"];
  readonly sortKey?: NonNullable<TableDescription["sortKey"]>;
  /** Keep superseded versions. Default false. */
  readonly history?: boolean;
  /** Default: transactions alone write it. */
  readonly access?: TableDescription["access"];
  /** For BASE transactions. Default false. */
  readonly base?: boolean;
  readonly indexes?: readonly IndexDefinition[];
};

/** As it is registered. */
export function registeredTable(table: TestTable): TableDescription & Pick<WantedTable, "base"> {
  const { indexes: _indexes, history = false, access = "transactional", ...keys } = table;
  return { ...keys, history, access };
}

export type DeploymentOptions = {
  readonly deployment: string;
  readonly tables: readonly TestTable[];
  readonly historyRetentionMs: number;
  /** How mappings deliver: `fan-out` pushes within some 70 ms, `standard` polls once a second. */
  readonly oracleConsumer: "fan-out" | "standard";
  /** Instead of each function's own, where a test asks for it. */
  readonly functionTimeLimitMs?: number | undefined;
  readonly oracle?: OracleOptions;
  /** False: tables alone, and one function that keeps house on a schedule. Default true. */
  readonly stream?: boolean | undefined;
  /** False, without a stream: no function keeps house. Default true. */
  readonly housekeeping?: boolean | undefined;
  /** Each with a log of its own; one Kinesis shard carries all. Default 1. */
  readonly shards?: number | undefined;
  /** Bits of every hash, up to 32, in place of 64: few, and most items collide with others. */
  readonly hashBits?: number | undefined;
};

export type OracleOptions = {
  /** Default: as for all functions. */
  readonly timeLimitMs?: number;
  readonly rebuildBlocksMax?: number;
  readonly rebuildPageBlocksMax?: number;
};
