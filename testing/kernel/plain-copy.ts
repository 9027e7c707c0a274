/**
 * A deep copy of command inputs and outputs, as the wire makes one: neither side sees what the
 * other changes later.
 */
export function plainCopy<Value>(value: Value): Value {
  return copyOf(value) as Value;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof Date) return new Date(value.getTime());
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    // As the serializer does: a member without a value is not sent.
    if (member !== undefined) copy[name] = copyOf(member);
  }
  return copy;
}
