/**
 * What `JSON.parse` hides, found in the text itself: numbers that a double cannot hold, names that
 * stand twice in one object, halves of surrogate pairs, and nesting without end. A request that has
 * one is refused, since the parsed value would silently differ from what was sent.
 */
import { compareDecimals, parseDecimal } from "../../core/decimal.ts";
import * as limits from "../../core/limits.ts";
import { isWellFormed } from "../../core/utf8.ts";

export type JsonTextFault = {
  readonly kind: "lossy-number" | "duplicate-name" | "reserved-name" | "half-pair" | "too-deep";
  /** Where, as `writes[0].item.total`. Empty at the top. */
  readonly field: string;
  /** The number or the name as it was written. */
  readonly token: string;
};

type Frame = {
  /** Names seen; undefined in an array. */
  readonly names: Set<string> | undefined;
  name: string;
  index: number;
};

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const minus = 0x2d;

/**
 * Whether the number that a JSON text spells survives a double: an integer must lie within
 * ±(2^53 - 1), where every integer has a double of its own; a fraction must be what the nearest
 * double prints as.
 */
export function isLosslessNumber(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value)) return false;
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false;
  const written = parseDecimal(text);
  const held = parseDecimal(value.toString());
  if (typeof written === "string" || typeof held === "string") return false;
  return compareDecimals(written, held) === 0;
}

/** The first fault in a text that `JSON.parse` has accepted, or undefined. */
export function findJsonTextFault(text: string): JsonTextFault | undefined {
  const frames: Frame[] = [];
  let at = 0;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    const frame = frames.at(-1);
    if (unit === quote) {
      const end = stringEnd(text, at);
      if (frame?.names !== undefined && isName(text, end)) {
        const name = readString(text, at, end);
        const fault = enterName(frames, frame.names, name);
        if (fault !== undefined) return fault;
      }
      if (hasHalfPair(text, at, end)) {
        return { kind: "half-pair", field: fieldOf(frames), token: "" };
      }
      at = end;
    } else if (unit === minus || isDigit(unit)) {
      const end = numberEnd(text, at);
      const token = text.slice(at, end);
      // Fifteen digits always survive; without an exponent nothing shorter needs a closer look.
      const short = token.length <= 15 && !/[eE]/.test(token);
      if (!short && !isLosslessNumber(token)) {
        return { kind: "lossy-number", field: fieldOf(frames), token };
      }
      at = end;
    } else {
      if (unit === 0x7b || unit === 0x5b) {
        if (frames.length === limits.restJsonDepthMax) {
          return { kind: "too-deep", field: fieldOf(frames), token: "" };
        }
        frames.push({ names: unit === 0x7b ? new Set() : undefined, name: "", index: 0 });
      } else if (unit === 0x7d || unit === 0x5d) {
        frames.pop();
      } else if (unit === comma && frame !== undefined) {
        frame.index += 1;
      }
      at += 1;
    }
  }
  return undefined;
}

function enterName(
  frames: readonly Frame[],
  names: Set<string>,
  name: string,
): JsonTextFault | undefined {
  const fault = (kind: "duplicate-name" | "reserved-name"): JsonTextFault => ({
    kind,
    field: fieldOf(frames.slice(0, -1)),
    token: name,
  });
  if (names.has(name)) return fault("duplicate-name");
  // Validators drop this one name to keep prototypes clean, and a dropped condition is a lie.
  if (name === "__proto__") return fault("reserved-name");
  names.add(name);
  const frame = frames.at(-1);
  if (frame !== undefined) frame.name = name;
  return undefined;
}

function fieldOf(frames: readonly Frame[]): string {
  let field = "";
  for (const frame of frames) {
    if (frame.names === undefined) field += `[${frame.index.toString()}]`;
    else field += field === "" ? frame.name : `.${frame.name}`;
  }
  return field;
}

/** Index after the closing quote of the string that opens at `start`. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at + 1;
}

function numberEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && /[\d.eE+-]/.test(text.charAt(at))) at += 1;
  return at;
}

/** In an object, a string is a name exactly if a colon follows. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (/\s/.test(text.charAt(at))) at += 1;
  return text.charAt(at) === ":";
}

/** The text itself came from UTF-8: a half can only have been written as an escape. */
function hasHalfPair(text: string, start: number, end: number): boolean {
  return text.slice(start, end).includes("\\u") && !isWellFormed(readString(text, start, end));
}

function readString(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}
