/** A place in the change feed as text, which may leave the process. It is not signed. */
import type { Timestamp, TransactionId } from "../../core/types.ts";
import type { ChangePosition } from "./types.ts";

export function positionText({ timestamp, id }: ChangePosition): string {
  return id === undefined ? timestamp.toString() : `${timestamp}.${id}`;
}

/** Undefined for what is none. */
export function parsePosition(text: string): ChangePosition | undefined {
  const [, micros, id] = /^(\d{1,16})(?:\.([0-9a-f]{32}))?$/.exec(text) ?? [];
  const timestamp = Number(micros);
  if (micros === undefined || !Number.isSafeInteger(timestamp)) return undefined;
  const at = { timestamp: timestamp as Timestamp };
  return id === undefined ? at : { ...at, id: id as TransactionId };
}

/** Whether commits lie between them that only the first has still to come to. */
export function isBelow(a: ChangePosition, b: ChangePosition): boolean {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp;
  return a.id !== undefined && (b.id === undefined || a.id < b.id);
}
