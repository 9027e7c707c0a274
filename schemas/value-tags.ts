/**
 * First bytes of attribute values (docs/formats/values.md). Short texts and small integers, the bulk of
 * all values, hold their length or value in the tag itself.
 */
export const tags = {
  null: 0x00,
  false: 0x01,
  true: 0x02,
  text: 0x03,
  integer: 0x04,
  decimal: 0x05,
  binary: 0x06,
  list: 0x07,
  map: 0x08,
  textSet: 0x09,
  numberSet: 0x0a,
  binarySet: 0x0b,
  /** Plus the byte length, up to `shortLengthMax`. */
  shortText: 0x80,
  /** Plus the value, up to `shortLengthMax`. */
  shortInteger: 0xc0,
} as const;

/** Largest text length or integer that a tag holds. */
export const shortLengthMax = 63;
