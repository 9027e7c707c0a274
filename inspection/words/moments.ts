/** Timestamps and spans of time as people read them. */
import type { Timestamp } from "../../core/types.ts";

/** ISO 8601 to the microsecond, as `asOf` takes it with its last three digits left out. */
export function momentText(timestamp: Timestamp): string {
  if (timestamp === 0) return "–";
  const ms = Math.floor(timestamp / 1_000);
  const rest = (timestamp - ms * 1_000).toString().padStart(3, "0");
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return timestamp.toString();
  return date.toISOString().replace("Z", `${rest}Z`);
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** "0.4 s", "12 s", "3 min", "2 h", "5 d". */
export function spanText(ms: number): string {
  const span = Math.max(0, ms);
  if (span < 10 * second) return `${(span / second).toFixed(1)} s`;
  if (span < 2 * minute) return `${Math.round(span / second).toString()} s`;
  if (span < 2 * hour) return `${Math.round(span / minute).toString()} min`;
  if (span < 2 * day) return `${Math.round(span / hour).toString()} h`;
  return `${Math.round(span / day).toString()} d`;
}

/** A number of things in a second: few with a decimal. */
export function rateText(count: number, spanMs: number): string {
  if (spanMs <= 0) return "–";
  const rate = (count * second) / spanMs;
  return rate >= 100 ? Math.round(rate).toString() : rate.toFixed(1);
}

/** "1 block", "2 blocks". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toString()} ${count === 1 ? one : many}`;
}
