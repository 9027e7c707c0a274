/**
 * UTF-8 without a platform encoder: the length of a string's encoding, whether bytes or a string
 * are well formed, and the order that DynamoDB gives strings (by their UTF-8 bytes, which is the
 * order of code points and differs from JavaScript's order of UTF-16 units above U+D7FF).
 */

/**
 * Bytes of the string's UTF-8 encoding. An unpaired surrogate counts three, as its replacement
 * does.
 */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      length += 1;
    } else if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(i + 1))) {
      length += 2; // Two units, four bytes.
      i += 1;
    } else {
      length += 2;
    }
  }
  return length;
}

/** Whether every surrogate is part of a pair, so that UTF-8 can carry the string without loss. */
export function isWellFormed(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdfff) continue;
    if (!isHighSurrogate(unit) || !isLowSurrogate(text.charCodeAt(i + 1))) return false;
    i += 1;
  }
  return true;
}

/**
 * Whether `bytes[start, end)` is well-formed UTF-8: no overlong forms, no surrogates, ≤ U+10FFFF.
 */
export function isValidUtf8(bytes: Uint8Array, start: number, end: number): boolean {
  let i = start;
  while (i < end) {
    const lead = bytes[i] ?? 0;
    if (lead < 0x80) {
      i += 1;
      continue;
    }
    const length = sequenceLength(lead);
    if (length === 0 || i + length > end) return false;
    // Only the second byte's range depends on the first: that is where overlong forms (E0, F0),
    // surrogates (ED) and values above U+10FFFF (F4) would begin.
    const second = bytes[i + 1] ?? 0;
    const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (second < low || second > high) return false;
    for (let j = 2; j < length; j++) {
      if (((bytes[i + j] ?? 0) & 0xc0) !== 0x80) return false;
    }
    i += length;
  }
  return true;
}

/**
 * Negative, zero or positive as `a` comes before, equals or comes after `b` in UTF-8 byte order.
 */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/** Negative, zero or positive, by unsigned bytes; a prefix comes first. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/**
 * Moves surrogates above every other unit. In two strings that first differ at some unit, a
 * surrogate there stands for a code point above U+FFFF, whatever the units U+E000 to U+FFFF say.
 */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** 0 for a byte that begins no sequence: a continuation, C0, C1, or F5 and above. */
function sequenceLength(lead: number): number {
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** False for the NaN that `charCodeAt` gives past the end. */
function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
