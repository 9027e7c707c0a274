/** A log that begins behind a fork, read with its past. */
import { expect, test } from "vitest";
import { forkedLogs } from "../../aws/forked-logs.ts";
import type { CommitLog, StoredBlock } from "../../core/ports.ts";
import type { LogPosition, ShardId } from "../../core/types.ts";

const [parent, child, grandchild] = ["parent", "child", "grandchild"] as ShardId[] as [
  ShardId,
  ShardId,
  ShardId,
];

/** What the store holds; each block says whose it is. Three blocks a page. */
function stored(held: Readonly<Record<string, readonly number[]>>) {
  const blockOf = (shard: ShardId) => (position: number) => ({
    position: position as LogPosition,
    bytes: new TextEncoder().encode(`${shard} ${position.toString()}`),
  });
  const blocksOf = (shard: ShardId): readonly StoredBlock[] =>
    (held[shard] ?? []).map(blockOf(shard));
  const log: Pick<CommitLog, "readAfter" | "readAt" | "readBackward"> = {
    readAfter: (shard, after) => {
      const all = blocksOf(shard).filter(({ position }) => position > after);
      return Promise.resolve({ blocks: all.slice(0, 3), complete: all.length <= 3 });
    },
    readAt: (shard, at) => Promise.resolve(blocksOf(shard).find(({ position }) => position === at)),
    readBackward: (shard, { from = Infinity, blocksMax }) =>
      Promise.resolve(
        blocksOf(shard)
          .filter(({ position }) => position <= from)
          .toReversed()
          .slice(0, blocksMax),
      ),
  };
  return forkedLogs(log);
}

function named(blocks: readonly (StoredBlock | undefined)[]): readonly string[] {
  return blocks.map((block) =>
    block === undefined ? "none" : new TextDecoder().decode(block.bytes),
  );
}

const held = { parent: [1, 2, 3, 4, 5, 6], child: [5, 6, 7], grandchild: [7, 8] };

function family() {
  const log = stored(held);
  log.continues(child, { shard: parent, through: 4 as LogPosition });
  log.continues(grandchild, { shard: child, through: 6 as LogPosition });
  return log;
}

const whole = ["parent 1", "parent 2", "parent 3", "parent 4", "child 5", "child 6"];

test("is followed page by page from its past on, and ends where it ends itself", async () => {
  const log = family();
  const seen: string[] = [];
  for (let after = 0, isDone = false; !isDone;) {
    const page = await log.readAfter(grandchild, after as LogPosition);
    seen.push(...named(page.blocks));
    after = page.blocks.at(-1)?.position ?? after;
    isDone = page.complete;
  }
  expect(seen).toEqual([...whole, "grandchild 7", "grandchild 8"]);
});

test("is read at any position, and backward through all logs before it", async () => {
  const log = family();
  const at = [2, 5, 7].map((position) => log.readAt(grandchild, position as LogPosition));
  expect(named(await Promise.all(at))).toEqual(["parent 2", "child 5", "grandchild 7"]);
  const seen: string[] = [];
  for (let from: LogPosition | undefined; from !== 0;) {
    const page = await log.readBackward(grandchild, {
      blocksMax: 3,
      ...(from === undefined ? {} : { from }),
    });
    seen.push(...named(page));
    from = ((page.at(-1)?.position ?? 1) - 1) as LogPosition;
  }
  expect(seen).toEqual([...whole, "grandchild 7", "grandchild 8"].toReversed());
});

test("has its past's last block for its newest until it has one of its own", async () => {
  const log = stored({ parent: [1, 2, 3, 4], child: [] });
  log.continues(child, { shard: parent, through: 3 as LogPosition });
  expect(named(await log.readBackward(child, { blocksMax: 1 }))).toEqual(["parent 3"]);
  const page = await log.readAfter(child, 3 as LogPosition);
  expect(page).toEqual({ blocks: [], complete: true });
});

test("shows the gap where its past has expired", async () => {
  const log = stored({ parent: [], child: [5, 6] });
  log.continues(child, { shard: parent, through: 4 as LogPosition });
  const { blocks, complete } = await log.readAfter(child, 1 as LogPosition);
  expect(named(blocks)).toEqual(["child 5", "child 6"]);
  expect(complete).toBe(true);
});

test("does not change how the other log is read", async () => {
  const log = family();
  const { blocks } = await log.readAfter(parent, 4 as LogPosition);
  expect(named(blocks)).toEqual(["parent 5", "parent 6"]);
});
