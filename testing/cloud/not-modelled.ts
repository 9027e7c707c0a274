/**
 * For what a service has and its model has not: no answer of the service, so that nobody takes it
 * for one.
 */
export class NotModelledError extends Error {
  override readonly name = "NotModelledError";
}
