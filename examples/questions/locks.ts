/** A lock that one worker holds for a while, for work outside of the database. */
import { type Client, defineTable } from "../../sdk/index.ts";

export const locks = defineTable<
  { owner: string; untilMs: number; fence: number },
  { name: string }
>("locks", { key: "name" });
export const reports = defineTable<{ text: string; fence: number }, { name: string }>("reports", {
  key: "name",
});

export type Wanted = { readonly name: string; readonly owner: string; readonly forMs: number };

/** A number that rises with each holder; undefined: somebody else has it. */
export async function acquire(
  db: Client,
  { name, owner, forMs }: Wanted,
  nowMs = Date.now(),
): Promise<number | undefined> {
  const { result } = await db.transact(async (tx) => {
    const lock = await tx.get(locks, name);
    const isFree = lock === undefined || lock.owner === owner || lock.untilMs <= nowMs;
    if (!isFree) return undefined;
    const fence = (lock?.fence ?? 0) + 1;
    tx.put(locks, name, { owner, untilMs: nowMs + forMs, fence });
    return fence;
  });
  return result;
}

/** Of one who has slept past the end of the lock, nothing is written. */
export async function publish(
  db: Client,
  { name, text, fence }: { readonly name: string; readonly text: string; readonly fence: number },
): Promise<"published" | "lock lost"> {
  const { result } = await db.transact(async (tx) => {
    const lock = await tx.get(locks, name);
    if (lock?.fence !== fence) return "lock lost";
    tx.put(reports, name, { text, fence });
    return "published";
  });
  return result;
}
