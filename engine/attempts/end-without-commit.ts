/**
 * How a transaction ends that commits nothing: it makes sure of all that it has read, where that
 * was not known to be true at one moment. No oracle is asked.
 */
import type { AttemptServices } from "./attempt-services.ts";
import type { AttemptViews } from "./attempt-views.ts";
import { orAborted } from "../concurrency.ts";
import type { ReadView } from "../reading/read-view.ts";
import { bringAllAbout } from "../committing/request-settler.ts";

/**
 * Its body has returned, or what it has thrown is about to be heard.
 * @param isUnasked of a body's error: what it went by before its call is not looked at.
 * @throws ConflictError, and the attempt is over.
 */
export async function endWithoutCommit(
  services: AttemptServices,
  views: AttemptViews,
  { isUnasked }: { readonly isUnasked: boolean },
): Promise<void> {
  const { all } = views;
  for (const view of all) {
    // mutant: reads-let-out-early
    await view.settleChained();
  }
  if (views.mode === "fixed") return;
  const touched = all.filter(({ readCount }) => readCount > 0);
  const [first, ...others] = touched;
  if (first !== undefined && others.length > 0) await endInShards(services, touched);
  else await endInOne(services, first ?? all[0], isUnasked);
}

/**
 * What was read so far is let out, and the transaction goes on, here or elsewhere. Of one shard it
 * is true at the read timestamp; what of it is of mixed tables its end compares.
 * @throws ConflictError, and the attempt is over.
 */
export async function endReadsInShards(
  services: AttemptServices,
  views: AttemptViews,
): Promise<void> {
  views.assertOpen();
  const touched = views.all.filter(({ readCount }) => readCount > 0);
  if (touched.length < 2) return;
  await endInShards(services, touched);
}

async function endInOne(
  services: AttemptServices,
  view: ReadView | undefined,
  isUnasked: boolean,
): Promise<void> {
  if (view === undefined) return;
  const { mixed, begins } = view;
  const hasMixed = mixed !== undefined && mixed.size > 0;
  if (hasMixed) await mixed.end();
  // Who has looked before its call goes on by that; its body's own error says nothing of the rest.
  const mustLook = isUnasked ? begins === "unasked" : begins !== "refreshed";
  if (!hasMixed && mustLook) {
    if (isUnasked) {
      // probe: unasked-body-failed
      // mutant: unasked-errors-let-out
      await view.extendToEnd();
    } else {
      // mutant: no-refresh-at-end
      await view.extendToEnd();
    }
  }
  if (!hasMixed) await passNothingOpen(services, view);
}

/**
 * What was read of several shards is compared with the ends of all their logs, each looked at after
 * the last read. All of it was true then at the moment before the first of these looks: whatever
 * was committed before had all its parts placed, so that each log shows its own, and what is open
 * there is settled (docs/adr/0015-many-shards.md, Read-only ones).
 */
async function endInShards(services: AttemptServices, views: readonly ReadView[]): Promise<void> {
  const mixed = views.find((view) => view.mixed !== undefined && view.mixed.size > 0)?.mixed;
  if (mixed !== undefined) {
    await mixed.endInShards(views);
    return;
  }
  // mutant: no-final-refresh
  await Promise.all(views.map((view) => view.extendToEnd()));
  for (const view of views) await passNothingOpen(services, view);
}

/**
 * What is open may have read of mixed tables what a native write has replaced since, before this
 * transaction began. It comes before that write then, and so before this one, which must see it:
 *
 *   T        reads y ─ prepared ─ y again, as read ──────────────── vote: z by the old y
 *   native                                     puts y ─┤
 *   this one                                            reads z
 *
 * Whatever is prepared behind the tail's end has read later.
 */
async function passNothingOpen(
  { ports, call, registry }: AttemptServices,
  view: ReadView,
): Promise<void> {
  const { reads, isolation, session } = view;
  if (isolation !== "serializable" || view.mode !== "read-write" || reads.size === 0) return;
  if (!registry.hasMixed && view.tail.open.size === 0) return;
  for (let met = 1; ; met += 1) {
    const { open } = view.tail;
    const ids = open.allInTheWay([...reads.keys.keys(), ...reads.predicates.keys()], []);
    if (ids.length === 0) break;
    const asked = { ids, met, signal: call.signal, call: call.options };
    await orAborted(bringAllAbout(ports, session, asked), call.signal);
  }
  view.refuseBelowTail();
  if (reads.isOvertakenByVote(view.tail)) view.extend();
}
