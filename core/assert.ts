/**
 * Assertions that stay on in production. A failed one is a bug, never bad input: the outermost
 * handler lets the invocation fail unacknowledged, and nothing between catches it.
 */

export class InvariantViolation extends Error {
  override readonly name = "InvariantViolation";
}

/**
 * @param message starts with the invariant's number where there is one ("I2: …").
 * @throws InvariantViolation
 */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantViolation(message);
}

/** Closes a switch over a union; does not compile while a member is missing. */
export function assertNever(value: never): never {
  throw new InvariantViolation(`unreachable: ${JSON.stringify(value)}`);
}
