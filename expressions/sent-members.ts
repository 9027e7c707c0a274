/**
 * Of what an application gives to the AWS SDK, what that sends: it leaves out members that are
 * undefined or null, and programs rely on it (`ExclusiveStartKey: lastKey ?? null`).
 */
import { malformed } from "./refusals.ts";

/** The same object, where each of its members has a value. @throws ServiceError for no object. */
export function sentMembers<Members extends object>(given: Members): Members {
  if (typeof given !== "object" || (given as unknown) === null || Array.isArray(given)) {
    throw malformed("Start of structure or map not found where expected");
  }
  const entries = Object.entries(given);
  const sent = entries.filter(([, member]) => isSent(member));
  return sent.length === entries.length ? given : (Object.fromEntries(sent) as Members);
}

export function isSent(member: unknown): boolean {
  return member !== undefined && member !== null;
}
