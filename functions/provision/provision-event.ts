/**
 * What Terraform asks of the provision function: the user tables of the deployment, how long their
 * history is kept, and whether there is a stream, none, or one that is to be closed.
 * Everything else it finds itself.
 */

import type { StreamWish } from "../../aws/stream-wish.ts";

export type ProvisionEvent = {
  readonly stream: StreamWish;
  readonly tables: readonly { readonly name: string; readonly history: boolean }[];
  readonly historyRetentionMs: number;
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
  return {
    stream,
    historyRetentionMs,
    tables: tables.map((table: unknown, index) => {
      const { name, history } = isRecord(table) ? table : {};
      if (typeof name === "string" && name !== "" && typeof history === "boolean") {
        return { name, history };
      }
      throw new RangeError(
        `tables[${index.toString()}] is not of the form { "name": text, "history": true or false }`,
      );
    }),
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
