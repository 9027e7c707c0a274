/**
 * `tidemark/config`: what `tidemark start` reads from `tidemark.config.ts` (or `.mts`, `.js`,
 * `.mjs`, `.json`). Everything is optional; an option on the command line counts before it.
 * @module tidemark/config
 */
import type { KeyAttribute, TableAccess } from "../core/types.ts";

/**
 * A key attribute: its name, for a text; or name and type, S (text), N (number) or B (bytes), as in
 * `"placedAt:N"`.
 */
export type KeyConfig = string | KeyAttribute;

export type IndexConfig = {
  readonly name: string;
  readonly partitionKey: KeyConfig;
  readonly sortKey?: KeyConfig;
};

/** A table that is created if it is missing, and registered. */
export type TableConfig = {
  readonly name: string;
  readonly partitionKey: KeyConfig;
  readonly sortKey?: KeyConfig;
  /** Keep superseded versions, for snapshot isolation and `asOf`. Default false. */
  readonly history?: boolean;
  /**
   * Who may write its items: `"transactional"` is transactions alone, `"mixed"` native operations
   * of DynamoDB beside them, without history. Default: as registered; for a new table
   * `"transactional"`.
   */
  readonly access?: TableAccess;
  /** BASE transactions may use it; it stays so. Default: as registered; for a new table false. */
  readonly base?: boolean;
  /** Global secondary indexes, which hold all attributes. */
  readonly indexes?: readonly IndexConfig[];
};

export type TidemarkConfig = {
  readonly tables?: readonly TableConfig[];
  /** 0 takes any free port. */
  readonly ports?: {
    readonly api?: number;
    readonly dynamodb?: number;
    readonly kinesis?: number;
    /** Of the console for the browser. */
    readonly console?: number;
  };
  /** A folder that keeps the data over restarts. Default: memory. */
  readonly data?: string;
  readonly deployment?: string;
  readonly region?: string;
  /** Default true. */
  readonly sampleTables?: boolean;
  /** No stream and no oracle: clients append to the log themselves. Default false. */
  readonly tablesOnly?: boolean;
  /** How many logs with an oracle each, 1 to 64. Default: as the data has them, and 1 anew. */
  readonly shards?: number;
  /** Split a shard that is busy: when, or as `--auto-split` does. Default false. */
  readonly autoSplit?: boolean | SplitConfig;
};

/** Whole numbers; of what is left out there is a default (docs/operations.md, Splits by load). */
export type SplitConfig = {
  readonly entriesPerSecond?: number;
  readonly writeUnitsPerSecond?: number;
  readonly lagSeconds?: number;
  readonly windowSeconds?: number;
  readonly coolDownSeconds?: number;
  readonly shardsMax?: number;
};

/**
 * The configuration as it is given, with its type checked.
 * @example
 * export default defineConfig({
 *   tables: [{ name: "orders", partitionKey: "customer", sortKey: "placedAt:N", history: true }],
 * });
 */
export function defineConfig(config: TidemarkConfig): TidemarkConfig {
  return config;
}
