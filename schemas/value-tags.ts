/**
 * First bytes of attribute values (docs/formats/values.md). Short texts and small integers, the
 * bulk of all values, hold their length or value in the tag itself. Imported as a namespace.
 */

/** NULL, then BOOL false and true. */
export const none = 0x00;
export const no = 0x01;
export const yes = 0x02;
export const text = 0x03;
export const integer = 0x04;
export const decimal = 0x05;
export const binary = 0x06;
export const list = 0x07;
export const map = 0x08;
export const textSet = 0x09;
export const numberSet = 0x0a;
export const binarySet = 0x0b;
/** Plus the byte length, up to `shortLengthMax`. */
export const shortText = 0x80;
/** Plus the value, up to `shortLengthMax`. */
export const shortInteger = 0xc0;

/** Largest text length or integer that a tag holds. */
export const shortLengthMax = 63;
