/**
 * FoundationDB's Cycle: keys that point to one another in one ring, permuted by swaps of two
 * neighbours. A transaction that saw or left behind a torn state cuts the ring in two, or lets it
 * run into itself.
 */
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import { upTo } from "./key-spaces.ts";
import { WorkloadFinding, type Snapshot, type WorkloadFactory } from "./workload.ts";

const ring = defineTable<{ readonly next: number }, { readonly id: number }>("ring", {
  key: "id",
});
const nodesPerKey = 3;

export const keyCycle: WorkloadFactory = ({ keys, history }) => {
  const ids = upTo(keys * nodesPerKey);

  const complaintOf = async (reader: Pick<Snapshot, "batchGet">): Promise<string | undefined> => {
    const nodes = await reader.batchGet(
      ring,
      ids.map((id) => ({ id })),
    );
    const length = lengthOfRing(nodes.map((node) => node?.next));
    return length === ids.length
      ? undefined
      : `the ring of ${ids.length.toString()} closes after ${length.toString()}`;
  };
  const follow = async (reader: Pick<Snapshot, "get">, id: number): Promise<number> => {
    const node = await reader.get(ring, { id });
    if (node === undefined) throw new WorkloadFinding(`node ${id.toString()} is gone`);
    return node.next;
  };

  return {
    tables: [testTable("ring", { partitionKey: { name: "id", type: "N" }, history })],
    async setUp(client) {
      await client.transact(async (tx) => {
        for (const id of ids) tx.put(ring, { id, next: (id + 1) % ids.length });
        return Promise.resolve();
      });
    },
    async step({ client, random, isolation, pause }) {
      if (random.chance(0.15)) {
        const complaint = await client.snapshot(complaintOf);
        if (complaint !== undefined) throw new WorkloadFinding(`seen in a snapshot: ${complaint}`);
        return;
      }
      const first = random.pick(ids);
      const patches = random.chance(0.5);
      const lingersMs = random.chance(0.2) ? random.between(1, 300) : 0;
      await client.transact({ isolation }, async (tx) => {
        const second = await follow(tx, first);
        const third = await follow(tx, second);
        const fourth = await follow(tx, third);
        if (new Set([first, second, third]).size < 3) {
          throw new WorkloadFinding(`a ring of two at ${first.toString()}`);
        }
        if (lingersMs > 0) await pause(lingersMs);
        const links: readonly (readonly [number, number])[] = [
          [first, third],
          [third, second],
          [second, fourth],
        ];
        for (const [id, next] of links) {
          if (patches) await tx.update(ring, { id }, { next });
          else tx.put(ring, { id, next });
        }
      });
    },
    async judge(client) {
      const complaint = await client.snapshot(complaintOf);
      return complaint === undefined ? [] : [complaint];
    },
  };
};

/** Steps from node 0 back to it; less than all where the walk leaves the ring, or closes early. */
function lengthOfRing(next: readonly (number | undefined)[]): number {
  const visited = new Set<number>();
  let at: number | undefined = 0;
  while (at !== undefined && !visited.has(at)) {
    visited.add(at);
    at = next[at];
  }
  return at === 0 ? visited.size : 0;
}
