/**
 * Why a search is stuck, and what it should have done: some point waits for a state of an item that
 * is over, or for others that wait for it in turn. Then it should have run before the one that made
 * it wait.
 */
import type { ItemRead } from "./problem.ts";
import { beginning } from "./problem.ts";
import type { RunState } from "./run-state.ts";

/** `first` should run before `second`, which has run. */
export type Wish = { readonly first: number; readonly second: number };

/** Blocked points looked at for one repair. */
const chainMax = 10_000;
/** Of one read. */
const wishesMax = 8;

/** @param stuck a point that is ready and may not run. */
export function repairOf(state: RunState, stuck: number): Wish | undefined {
  const chain: number[] = [];
  const seen = new Map<number, number>();
  let node: number | undefined = stuck;
  while (node !== undefined && !seen.has(node) && chain.length < chainMax) {
    seen.set(node, chain.length);
    chain.push(node);
    node = blockedBehind(state, node);
  }
  // Who waits for each other in a circle; else who waits for what will never come.
  const circle = chain.slice(node === undefined ? -1 : (seen.get(node) ?? 0));
  return latest(state, circle) ?? latest(state, chain);
}

/** The one that takes back the least. */
function latest(state: RunState, points: readonly number[]): Wish | undefined {
  let best: Wish | undefined;
  for (const wish of points.flatMap((point) => wishesOf(state, point))) {
    const place = state.placeOf(wish.second);
    if (place === 0 || (best !== undefined && place <= state.placeOf(best.second))) continue;
    if (!leadsTo(state, wish.second, wish.first)) best = wish;
  }
  return best;
}

/** A point that is ready, may not run either, and on which this one's turn depends. */
function blockedBehind(state: RunState, point: number): number | undefined {
  const { store, problem } = state;
  const unfit = store.readsAt(point).find((read) => !store.fits(read));
  if (unfit !== undefined) {
    const writer = unfit.candidates.find((each) => {
      const to = commitOf(state, unfit.item, each);
      return to !== undefined && state.placeOf(to) === 0;
    });
    const to = writer === undefined ? undefined : commitOf(state, unfit.item, writer);
    return to === undefined ? undefined : readyBehind(state, to);
  }
  const item = store.obstacle(point);
  if (item === undefined) return undefined;
  const holder = store.holderOf(item);
  if (holder !== undefined) return readyBehind(state, problem.commitPoint(holder));
  const reader = store
    .awaitedAt(item)
    .find((read) => state.placeOf(read.point) === 0 && read.point !== point);
  return reader === undefined ? undefined : readyBehind(state, reader.point);
}

function readyBehind(state: RunState, node: number): number | undefined {
  let behind: number | undefined = node;
  while (behind !== undefined && !state.isReady(behind)) behind = state.waitsFor(behind);
  return behind;
}

/** What would have let the point run in time. */
function wishesOf(state: RunState, point: number): readonly Wish[] {
  const { store, problem } = state;
  const unfit = store.readsAt(point).find((read) => !store.fits(read));
  if (unfit !== undefined) return wishesOfRead(state, unfit);
  const item = store.obstacle(point);
  if (item === undefined) return [];
  const holder = store.holderOf(item);
  if (holder !== undefined) return [{ first: point, second: problem.readPoint(holder) }];
  const writer = commitOf(state, item, store.currentOf(item));
  return writer === undefined ? [] : [{ first: point, second: writer }];
}

/**
 * Before the one who ended a state that the read could have found; or, if that one had to come
 * before the read, then before that state.
 */
function wishesOfRead(state: RunState, { point, item, candidates }: ItemRead): readonly Wish[] {
  const { store, log } = state;
  const wishes: Wish[] = [];
  for (let i = log.length - 1; i >= 0 && wishes.length < wishesMax; i -= 1) {
    const ran = log[i];
    if (ran === undefined) break;
    const written = store.writtenAt(ran.point).indexOf(item);
    if (written < 0) continue;
    const replaced = ran.replaced[written] ?? beginning;
    if (!candidates.includes(replaced)) continue;
    wishes.push({ first: point, second: ran.point });
    const before = commitOf(state, item, replaced);
    if (before !== undefined) wishes.push({ first: ran.point, second: before });
  }
  return wishes;
}

function commitOf({ problem }: RunState, item: number, writer: number): number | undefined {
  const facts = problem.items[item]?.writers[writer];
  return facts === undefined ? undefined : problem.commitPoint(facts.member);
}

/** Whether a path leads from a point that has run to one that has or may: all on it have run. */
function leadsTo(state: RunState, from: number, to: number): boolean {
  const seen = new Set<number>([from]);
  const open = [from];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const targets: number[] = [];
    state.eachTarget(node, (target) => targets.push(target));
    if (targets.includes(to)) return true;
    for (const target of targets) {
      if (state.placeOf(target) === 0 || seen.has(target)) continue;
      seen.add(target);
      open.push(target);
    }
  }
  return false;
}
