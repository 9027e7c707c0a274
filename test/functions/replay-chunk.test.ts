/** What replay plans to install, while some clients write with history and some without. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Item, SequenceNumber, Timestamp, TransactionId } from "../../core/types.ts";
import type { Commit } from "../../engine/installing/payload-writes.ts";
import { planChunk, type PlannedWrite } from "../../functions/replay/chunk.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const names = { name: "rows", partitionKey: "pk" };

function commitOf(timestamp: number, pk: string, history: boolean): Commit {
  const key: Item = { pk: { S: pk } };
  return {
    payload: { tables: [{ ...names, history }], writes: [{ table: 0, key, item: key }] },
    verdict: {
      kind: "committed",
      id: timestamp.toString(16).padStart(32, "0") as TransactionId,
      timestamp: timestamp as Timestamp,
      writes: [sampleHashes.item(names, key)],
      payload: { kind: "stream", sequenceNumber: "1" as SequenceNumber, requestIndex: 0 },
    },
  };
}

const keyText = ({ commit }: PlannedWrite): string => JSON.stringify(commit.payload.writes[0]?.key);
const timestampOf = ({ commit }: PlannedWrite): number => commit.verdict.timestamp;
const noReports: ReadonlySet<Timestamp> = new Set();
const permitted = (): undefined => undefined;

test("a write without history goes before the one with history that supersedes it", () => {
  const plan = planChunk([commitOf(1, "a", false), commitOf(2, "a", true)], noReports, permitted);
  expect(plan.latest).toEqual([]);
  expect(plan.ordered.map((chain) => chain.map(timestampOf))).toEqual([[1, 2]]);
});

test("of writes without history before one with it, only the newest is needed", () => {
  const commits = [1, 2].map((at) => commitOf(at, "a", false));
  const plan = planChunk([...commits, commitOf(3, "a", true)], noReports, permitted);
  expect(plan.ordered.map((chain) => chain.map(timestampOf))).toEqual([[2, 3]]);
});

test("a reported write covers no earlier one that nobody reports", () => {
  const commits = (history: boolean): Commit[] => [1, 2].map((at) => commitOf(at, "a", history));
  const reported = new Set([2 as Timestamp]);
  expect(planChunk(commits(false), reported, permitted).latest.map(timestampOf)).toEqual([2]);
  const { ordered } = planChunk(commits(true), reported, permitted);
  expect(ordered.map((chain) => chain.map(timestampOf))).toEqual([[1, 2]]);
});

test("each write on a mixed table is installed by itself, unless it is reported", () => {
  const mixed = (at: number, item?: Item): Commit => {
    const commit = commitOf(at, "a", false);
    const [write] = commit.payload.writes;
    if (write === undefined) throw new Error("it has a write");
    const tables = [{ ...names, history: false, isMixed: true as const }];
    return { ...commit, payload: { tables, writes: [{ ...write, item }] } };
  };
  const commits = [mixed(1), mixed(2, { pk: { S: "a" } }), mixed(3)];
  const plan = planChunk(commits, new Set([2 as Timestamp]), permitted);
  expect(plan.voted.map(timestampOf)).toEqual([1, 3]);
  // What a delete has taken away leaves nothing behind that has to go later.
  expect(plan).toMatchObject({ latest: [], ordered: [], tombstones: [] });
});

test("a delete on a guarded table leaves a tombstone that has to go later, reported or not", () => {
  const deleted = (at: number): Commit => {
    const commit = commitOf(at, "a", false);
    const tables = [{ ...names, history: false, isMixed: true, isGuarded: true } as const];
    return {
      ...commit,
      payload: { tables, writes: [{ table: 0, key: { pk: { S: "a" } }, item: undefined }] },
    };
  };
  const plan = planChunk([deleted(1), deleted(2)], new Set([2 as Timestamp]), permitted);
  expect(plan.voted.map(timestampOf)).toEqual([1]);
  expect(plan.tombstones.map(({ version }) => version)).toEqual([1, 2]);
});

test("every item is installed in one order, whichever way its writers see the table", () => {
  const step = fc.record({
    pk: fc.constantFrom("a", "b", "c"),
    history: fc.boolean(),
    reported: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const commits = steps.map(({ pk, history }, i) => commitOf(i + 1, pk, history));
      const reported = steps.flatMap((each, i) => (each.reported ? [(i + 1) as Timestamp] : []));
      const plan = planChunk(commits, new Set(reported), permitted);
      const owners = [...plan.latest.map(keyText), ...plan.ordered.map(([first]) => first)];
      const items = owners.map((each) => (typeof each === "object" ? keyText(each) : each));
      expect(new Set(items).size).toBe(items.length);
      for (const chain of plan.ordered) {
        const times = chain.map(timestampOf);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        expect(new Set(chain.map(keyText)).size).toBe(1);
      }
      for (const { pk } of steps) {
        const mine = steps.flatMap((each, i) => (each.pk === pk ? [i + 1] : []));
        const last = mine.at(-1) ?? 0;
        const planned = [...plan.latest, ...plan.ordered.flat()].map(timestampOf);
        // What its client does not vouch for is looked at, by the newest of its item at least. So
        // no report leaves out the earlier write of somebody else.
        const open = mine.filter((each) => !reported.includes(each as Timestamp));
        expect(planned.includes(last)).toBe(open.length > 0);
      }
    }),
  );
});
