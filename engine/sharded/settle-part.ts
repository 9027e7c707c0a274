/**
 * What becomes of an open part that stands in somebody's way, and whose client has had its while
 * (settle-open.ts): whoever waits looks at all its logs, and enters the outcome where it waits. The
 * other logs go on without; who meets it there does the same.
 */
import type { PreparedVerdict } from "../../core/types.ts";
import type { MetPart, ShardSession } from "../shard-session.ts";
import { enterIn, settleWhole, type ShardedParts } from "./settle-outcome.ts";

/** @throws as `settleWhole`. */
export async function settlePart(
  parts: ShardedParts,
  session: ShardSession,
  { prepared, ...met }: MetPart & { readonly prepared: PreparedVerdict },
): Promise<void> {
  const { id, timestamp: from, parts: all = [] } = prepared;
  const whole = await settleWhole(parts, { ...met, id, parts: all });
  if (session.follower.tail.open.get(id) === undefined) return;
  // probe: part-settled-by-another
  await enterIn(parts.ports, session, { ...met, id, from, enter: { kind: "settle", whole } });
}
