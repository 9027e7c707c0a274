/** Which write replay puts over nothing, held against a log that is looked through as a whole. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { StoreError } from "../../core/errors.ts";
import { KeyHasher } from "../../core/key-hash.ts";
import type { ControlStore, StoredBlock } from "../../core/ports.ts";
import type {
  Item,
  LogPosition,
  MakerNumber,
  SequenceNumber,
  ShardId,
  StreamCursor,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import type { Commit } from "../../engine/installing/payload-writes.ts";
import type { PlannedWrite } from "../../functions/replay/chunk.ts";
import { LogAhead } from "../../functions/replay/log-ahead.ts";
import { NewerWrites } from "../../functions/replay/newer-writes.ts";
import { PayloadsInOrder } from "../../engine/log/payloads-in-order.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { withHashBits } from "../../testing/narrow-hashes.ts";
import { sampleHashSecret } from "../../testing/sample-hashes.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";

const shard = "shardId-000000000000" as ShardId;
const names = { name: "rows", partitionKey: "pk" };
const keyOf = (pk: string): Item => ({ pk: { S: pk } });

/** So few bits that some of the items have one hash. */
async function narrowHashes(): Promise<KeyHashes> {
  const keyHasher = (): Promise<KeyHasher> => Promise.resolve(new KeyHasher(sampleHashSecret));
  const ports: { control: Pick<ControlStore, "keyHasher"> } = { control: { keyHasher } };
  return new KeyHashes(await withHashBits(ports, 2).control.keyHasher(shard));
}
const hashes = await narrowHashes();

type Write = { readonly pk: string; readonly history: boolean };

/** At its position, times ten, stands what the block's one transaction wrote. */
function commitAt(position: number, writes: readonly Write[]): Commit {
  const payload = {
    tables: [false, true].map((history) => ({ ...names, history })),
    writes: writes.map(({ pk, history }) => ({
      table: history ? 1 : 0,
      key: keyOf(pk),
      item: keyOf(pk),
    })),
  };
  return {
    payload,
    verdict: {
      kind: "committed",
      id: position.toString(16).padStart(32, "0") as TransactionId,
      timestamp: (10 * position) as Timestamp,
      writes: writes.map(({ pk }) => hashes.item(names, keyOf(pk))),
      payload: { kind: "inline", bytes: encodePayload(payload) },
    },
  };
}

function blockOf(
  position: number,
  { verdict }: Commit,
  cursor: StreamCursor | undefined,
): StoredBlock {
  const at = position as LogPosition;
  const bytes = encodeLogBlock(
    {
      position: at,
      previousTimestamp: (10 * position - 10) as Timestamp,
      throughTimestamp: verdict.timestamp,
      cursor,
      arrivalMs: 1,
      rejectedRecords: 0,
      // Only a client's block holds payloads.
      maker: { number: 1 as MakerNumber, installed: [] },
      verdicts: [verdict],
    },
    hashes,
  );
  return { position: at, bytes };
}

type Scene = {
  readonly commits: readonly Commit[];
  readonly pageBlocks: number;
  /** From the block at this position on, what a client's block must not have. */
  readonly cursorMovesAt?: number;
};

function readingOf(
  { commits, pageBlocks, cursorMovesAt = Infinity }: Scene,
  isTimeUp = (): boolean => false,
) {
  const moved = { sequenceNumber: "9" as SequenceNumber, requestsDone: "all" } as const;
  const blocks = commits.map((commit, i) =>
    blockOf(i + 1, commit, i + 1 < cursorMovesAt ? undefined : moved),
  );
  const log = {
    readAfter: (_: ShardId, after: LogPosition) => {
      const behind = blocks.slice(after);
      const page = { blocks: behind.slice(0, pageBlocks), complete: behind.length <= pageBlocks };
      return Promise.resolve(page);
    },
    readAt: (_: ShardId, position: LogPosition) => Promise.resolve(blocks[position - 1]),
  };
  return { log, shard, hashes, call: {}, isTimeUp };
}

/** Payloads are inline: they need no store. */
const noStores = {} as ConstructorParameters<typeof PayloadsInOrder>[0];
const noneOpen = { shard, hashes, records: [], preparedAs: () => undefined };

async function newestOf(
  writes: readonly PlannedWrite[],
  work: {
    readonly ahead: LogAhead;
    readonly after: number;
    readonly reading: ReturnType<typeof readingOf>;
    readonly refused?: ReadonlySet<string>;
  },
): Promise<readonly PlannedWrite[]> {
  const { ahead, reading, refused = new Set() } = work;
  const newer = new NewerWrites({
    ahead,
    reading,
    payloads: new PayloadsInOrder(noStores, noneOpen, {}),
    refusalOf: ({ payload }, index) =>
      refused.has(JSON.stringify(payload.writes[index]?.key)) ? "refused" : undefined,
    after: {
      position: work.after as LogPosition,
      timestamp: (10 * work.after) as Timestamp,
      cursor: undefined,
    },
  });
  const found: PlannedWrite[] = [];
  for await (const each of newer.of(writes)) found.push(each);
  return found;
}

const nameOf = ({ commit, index }: PlannedWrite): string =>
  `${JSON.stringify(commit.payload.writes[index]?.key)} at ${String(commit.verdict.timestamp)}`;

const items = ["a", "b", "c", "d", "e", "f"];
const writesOfOne = fc.uniqueArray(
  fc.record({ pk: fc.constantFrom(...items), history: fc.boolean() }),
  { minLength: 1, maxLength: 4, selector: ({ pk }) => pk },
);

test("it is the newest one without history of the very item, however the log is read", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(writesOfOne, { minLength: 1, maxLength: 24 }),
      fc.array(fc.nat(23), { minLength: 1, maxLength: 6 }),
      fc.record({
        pageBlocks: fc.integer({ min: 1, max: 5 }),
        keysMax: fc.integer({ min: 1, max: 6 }),
      }),
      async (transactions, places, { pageBlocks, keysMax }) => {
        const commits = transactions.map((writes, i) => commitAt(i + 1, writes));
        const reading = readingOf({ commits, pageBlocks });
        // One for all, as invocations of one process have it: mostly going forward.
        const ahead = new LogAhead(keysMax);
        for (const place of places.toSorted((a, b) => a - b)) {
          const at = place % commits.length;
          const planned = (transactions[at] ?? []).flatMap(({ history }, index) => {
            const commit = commits[at];
            return commit === undefined || history ? [] : [{ commit, index }];
          });
          const found = await newestOf(planned, { ahead, reading, after: at + 1 });
          const wanted = planned.map(({ commit, index }) => {
            const key = JSON.stringify(commit.payload.writes[index]?.key);
            const all = commits.flatMap((each) =>
              each.payload.writes.flatMap((write, i) =>
                write.table === 0 && JSON.stringify(write.key) === key
                  ? [{ commit: each, index: i }]
                  : [],
              ),
            );
            return all.at(-1) ?? { commit, index };
          });
          expect(found.map(nameOf).sort()).toEqual(wanted.map(nameOf).sort());
        }
      },
    ),
  );
});

test("what must not be made is no newer write", async () => {
  const commits = ["a", "a", "a"].map((pk, i) => commitAt(i + 1, [{ pk, history: false }]));
  const [first] = commits;
  if (first === undefined) throw new Error("no commit");
  const reading = readingOf({ commits, pageBlocks: 2 });
  const ask = (refused: ReadonlySet<string>): Promise<readonly PlannedWrite[]> =>
    newestOf([{ commit: first, index: 0 }], { ahead: new LogAhead(), after: 1, reading, refused });
  expect((await ask(new Set())).map(nameOf)).toEqual(['{"pk":{"S":"a"}} at 30']);
  const all = new Set([JSON.stringify(keyOf("a"))]);
  expect((await ask(all)).map(nameOf)).toEqual(['{"pk":{"S":"a"}} at 10']);
});

test("behind a block that stops the shard nothing is newer", async () => {
  const commits = "aaaa".split("").map((pk, i) => commitAt(i + 1, [{ pk, history: false }]));
  const [first] = commits;
  if (first === undefined) throw new Error("no commit");
  const reading = readingOf({ commits, pageBlocks: 2, cursorMovesAt: 3 });
  const ahead = new LogAhead();
  const found = await newestOf([{ commit: first, index: 0 }], { ahead, after: 1, reading });
  expect(found.map(nameOf)).toEqual(['{"pk":{"S":"a"}} at 20']);
});

test("nothing is given out before the log's end; the next invocation goes on", async () => {
  const commits = Array.from({ length: 9 }, (_, i) =>
    commitAt(i + 1, [{ pk: "a", history: false }]),
  );
  const [first] = commits;
  if (first === undefined) throw new Error("no commit");
  const ahead = new LogAhead();
  const read: number[] = [];
  const hurried = (pagesMax: number): ReturnType<typeof readingOf> => {
    let pages = 0;
    const reading = readingOf({ commits, pageBlocks: 2 }, () => pages >= pagesMax);
    const { readAfter } = reading.log;
    return {
      ...reading,
      log: {
        ...reading.log,
        readAfter: (of, after) => {
          pages += 1;
          read.push(after);
          return readAfter(of, after);
        },
      },
    };
  };
  const planned = [{ commit: first, index: 0 }];
  const early = newestOf(planned, { ahead, after: 1, reading: hurried(2) });
  await expect(early).rejects.toBeInstanceOf(StoreError);
  const found = await newestOf(planned, { ahead, after: 1, reading: hurried(2) });
  expect(found.map(nameOf)).toEqual(['{"pk":{"S":"a"}} at 90']);
  expect(read).toEqual([1, 3, 5, 7]);
});
