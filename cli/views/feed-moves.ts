/** What `tidemark feeds reset` and `feeds remove` answer. Pure. */
import { isBelow, positionText } from "../../engine/changes/position.ts";
import type { FeedMove, RemovedFeed } from "../../engine/changes/types.ts";
import { momentText, spanText } from "../../inspection/words/moments.ts";
import { plainText } from "../../inspection/words/plain-text.ts";
import type { Styles } from "../shell/styles.ts";

export function movedLines(name: string, moved: FeedMove, styles: Styles): readonly string[] {
  const { to, holder } = moved;
  return [
    `${plainText(name)} goes on at ${momentText(to.timestamp)} (${positionText(to)})`,
    wayText(moved),
    ...(holder === undefined
      ? []
      : [styles.faint(`→ ${holder} is at it, and hears of it at his next save, within 10 s`)]),
  ];
}

function wayText({ to, before }: FeedMove): string {
  if (before === undefined) return "it had no position before";
  const span = spanText(Math.abs(to.timestamp - before.timestamp) / 1_000);
  if (isBelow(to, before)) return `${span} back: what was handled since then comes again`;
  return isBelow(before, to) ? `${span} further on: what lies between is left out` : "as before";
}

export function movedJson(name: string, { to, before, holder }: FeedMove): object {
  const at = momentText(to.timestamp);
  return { name, position: positionText(to), at, before: before && positionText(before), holder };
}

export function removedLine(name: string, removed: RemovedFeed, nowMs: number): string {
  const own = plainText(name);
  if (removed.kind === "removed") {
    return `${own} is removed; a consumer of that name begins anew, at its option first`;
  }
  const forText = spanText(removed.heldUntilMs - nowMs);
  return (
    `${own} is held by ${plainText(removed.holder)} for ${forText} yet: stop its consumers ` +
    "first; nothing is changed"
  );
}

export function removedJson(name: string, removed: RemovedFeed): object {
  if (removed.kind === "removed") return { name, isRemoved: true };
  const { holder, heldUntilMs } = removed;
  return { name, isRemoved: false, holder, heldUntil: new Date(heldUntilMs).toISOString() };
}
