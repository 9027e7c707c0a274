/** Why a port could not be had, in words that say which one and what to change. */
import type { FailureReason } from "./process-messages.ts";

export function listenFailure(
  error: unknown,
  { port, option }: { readonly port: number; readonly option: string },
): { readonly reason: FailureReason; readonly message: string } {
  const code =
    error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  const remedy = `choose another with ${option} <port>, or ${option} 0 for any free one`;
  if (code === "EADDRINUSE") {
    return {
      reason: "port-busy",
      message:
        `port ${port.toString()} is in use, by a stack that runs already or another program; ` +
        remedy,
    };
  }
  if (code === "EACCES") {
    return {
      reason: "port-forbidden",
      message: `port ${port.toString()} may not be used; ${remedy}`,
    };
  }
  const because = error instanceof Error ? error.message : String(error);
  return { reason: "other", message: `port ${port.toString()} cannot be used: ${because}` };
}
