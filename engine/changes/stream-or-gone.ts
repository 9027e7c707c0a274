/**
 * A stream that was taken away holds nothing any more. Replay must not conclude that, since it
 * would give commits up for a mistake in a name or a right; it has drained the stream before. Who
 * reads changes asks for hours-old payloads, and is told that they have expired.
 */
import { StoreError } from "../../core/errors.ts";
import type { CommitStream } from "../../core/ports.ts";

export function streamOrGone<Ports extends { readonly stream: Pick<CommitStream, "read"> }>(
  ports: Ports,
): Ports {
  const read: CommitStream["read"] = async (...asked) => {
    try {
      return await ports.stream.read(...asked);
    } catch (error) {
      const isThere = !(error instanceof StoreError) || error.code !== "ResourceNotFoundException";
      if (isThere) throw error;
      return { kind: "trimmed" };
    }
  };
  return { ...ports, stream: { ...ports.stream, read } };
}
