/** The handler did not take the way again that is recorded. */
export class HandlerChangedError extends Error {
  override readonly name = "HandlerChangedError";
}
