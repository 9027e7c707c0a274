/**
 * What Terraform asks of the provision function: the user tables of the deployment, how long their
 * history is kept, how many shards there are, and whether there is a stream, none, or one that is
 * to be closed.
 * Everything else it finds itself.
 */

import type { StreamWish } from "../../aws/stream-wish.ts";
import { tableAccesses } from "../../core/table-access.ts";
import type { TableAccess } from "../../core/types.ts";

export type ProvisionEvent = {
  readonly stream: StreamWish;
  readonly tables: readonly ProvisionedTable[];
  readonly historyRetentionMs: number;
  /** Undefined: as many as there are, and one of a new deployment. */
  readonly shards?: number;
};

export type ProvisionedTable = {
  readonly name: string;
  readonly history: boolean;
  /** Missing: as it is registered. */
  readonly access?: TableAccess;
  /** Missing: as it is registered. */
  readonly base?: boolean;
};

/** @throws RangeError naming what is wrong; Terraform shows it as the reason why `apply` failed. */
export function parseProvisionEvent(event: unknown): ProvisionEvent {
  const tables = isRecord(event) ? event["tables"] : undefined;
  if (!Array.isArray(tables)) throw new RangeError('the event has no list "tables"');
  const historyRetentionMs = isRecord(event) ? event["historyRetentionMs"] : undefined;
  if (typeof historyRetentionMs !== "number") {
    throw new RangeError('the event has no number "historyRetentionMs"');
  }
  const stream = isRecord(event) ? (event["stream"] ?? true) : undefined;
  if (typeof stream !== "boolean" && stream !== "closing") {
    throw new RangeError('"stream" is true, false or "closing"');
  }
  const shards = isRecord(event) ? event["shards"] : undefined;
  if (shards !== undefined && typeof shards !== "number") {
    throw new RangeError('"shards" is a number');
  }
  return {
    stream,
    historyRetentionMs,
    ...(shards === undefined ? {} : { shards }),
    tables: tables.map(toTable),
  };
}

function toTable(table: unknown, index: number): ProvisionedTable {
  const { name, history, access: said, base } = isRecord(table) ? table : {};
  const access = tableAccesses.find((each) => each === said);
  const isKnown = said === undefined || access !== undefined;
  const isBaseKnown = base === undefined || typeof base === "boolean";
  const isNamed = typeof name === "string" && name !== "";
  if (isNamed && typeof history === "boolean" && isKnown && isBaseKnown) {
    return {
      ...{ name, history },
      ...(access === undefined ? {} : { access }),
      ...(base === undefined ? {} : { base }),
    };
  }
  throw new RangeError(
    `tables[${index.toString()}] is not of the form { "name": text, "history": true or false, ` +
      `"access": "transactional" or "mixed", "base": true or false }`,
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
