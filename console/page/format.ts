/** Times, numbers and values as text. Times are UTC, and say so where they stand alone. Pure. */
import * as limits from "../limits.ts";
import type { WireItem, WireValue } from "../wire.ts";

/** `00:12:03.123456` of a timestamp in microseconds. */
export function clockText(micros: number): string {
  if (micros <= 0) return "–";
  const rest = Math.floor(micros % 1_000)
    .toString()
    .padStart(3, "0");
  const date = new Date(Math.floor(micros / 1_000));
  return Number.isNaN(date.getTime()) ? "–" : `${date.toISOString().slice(11, 23)}${rest}`;
}

/** `2026-11-28 00:12:03.123456 UTC`. */
export function momentText(micros: number): string {
  if (micros <= 0) return "–";
  const date = new Date(Math.floor(micros / 1_000));
  if (Number.isNaN(date.getTime())) return micros.toString();
  return `${date.toISOString().slice(0, 10)} ${clockText(micros)} UTC`;
}

/** Of a moment as `momentText` writes it, in whole or without its last parts; else undefined. */
export function momentFrom(text: string): number | undefined {
  const plain = text.trim();
  if (/^\d{13,16}$/.test(plain)) return Number(plain.padEnd(16, "0"));
  const pattern = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,6}))?\s*(?:Z|UTC)?$/i;
  const [, day, time, fraction = ""] = pattern.exec(plain) ?? [];
  if (day === undefined || time === undefined) return undefined;
  const ms = Date.parse(`${day}T${time.length === 5 ? `${time}:00` : time}Z`);
  return Number.isNaN(ms) ? undefined : ms * 1_000 + Number(fraction.padEnd(6, "0"));
}

/** "0.4 s", "12 s", "3 min", "2 h", "5 d". */
export function spanText(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 0.1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function rateText(rate: number): string {
  return rate >= 100 ? countText(Math.round(rate)) : rate.toFixed(1);
}

/** With thin blanks between thousands. */
export function countText(count: number): string {
  return count.toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009");
}

export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`;
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** An id's first digits are a time, and alike among neighbours: its end tells it from others. */
export function shortId(id: string): string {
  return `${id.slice(0, 6)}…${id.slice(-8)}`;
}

/** A value in one line: texts in quotes, as JSON; what is too long is cut and says so. */
export function valueText(value: WireValue): string {
  const text = whole(value);
  const { length } = text;
  if (length <= limits.valueCharactersMax) return text;
  return `${text.slice(0, limits.valueCharactersMax)}…`;
}

/** A key without its names: `"ann" / 3`. */
export function keyText(key: WireItem): string {
  return Object.values(key)
    .map((value) => valueText(value))
    .join(" / ");
}

export function isNumeric(value: WireValue | undefined): boolean {
  return value !== undefined && "N" in value;
}

function whole(value: WireValue): string {
  const [[type, content] = ["", undefined]] = Object.entries(value);
  switch (type) {
    case "S":
      return JSON.stringify(content);
    case "N":
      return String(content);
    case "BOOL":
      return content === true ? "true" : "false";
    case "NULL":
      return "null";
    case "B":
      return `base64 ${String(content)}`;
    case "L":
      return `[${(content as readonly WireValue[]).map(whole).join(", ")}]`;
    case "M":
      return `{ ${Object.entries(content as WireItem)
        .map(([name, each]) => `${name}: ${whole(each)}`)
        .join(", ")} }`;
    default:
      return `<${(content as readonly unknown[]).map((each) => JSON.stringify(each)).join(", ")}>`;
  }
}
