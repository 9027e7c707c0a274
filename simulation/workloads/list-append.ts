/**
 * Lists that only grow (Elle's list-append, Kingsbury & Alvaro, VLDB 2020): each element tells who
 * wrote it, each list which elements came before it. All lists that anybody ever reads of one key
 * are prefixes of each other, no element is there twice, and none that was acknowledged is missing.
 */
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import { numbered } from "./key-spaces.ts";
import { WorkloadFinding, type Snapshot, type WorkloadFactory } from "./workload.ts";

const lists = defineTable<{ readonly elements: readonly string[] }, { readonly id: string }>(
  "lists",
  { key: "id" },
);

export const listAppend: WorkloadFactory = ({ keys, history }) => {
  const ids = numbered("list", keys * 2);
  /** The longest that anybody has read who committed. */
  const longest = new Map<string, readonly string[]>();
  /** Elements that must be there, by list. */
  const acknowledged = new Map<string, Set<string>>(ids.map((id) => [id, new Set()]));

  const complaintOf = (id: string, read: readonly string[]): string | undefined => {
    const known = longest.get(id) ?? [];
    const common = Math.min(read.length, known.length);
    for (let at = 0; at < common; at += 1) {
      if (read[at] !== known[at])
        return `${id} has been read with two different elements ${at.toString()}`;
    }
    return new Set(read).size < read.length ? `${id} holds an element twice` : undefined;
  };
  /**
   * What an attempt has read that never committed proves nothing: it may have been chained to
   * another that did not.
   */
  const note = (id: string, read: readonly string[]): void => {
    if (read.length > (longest.get(id)?.length ?? 0)) longest.set(id, read);
  };
  const listOf = async (reader: Pick<Snapshot, "get">, id: string): Promise<readonly string[]> => {
    const { elements = [] } = (await reader.get(lists, { id })) ?? {};
    const complaint = complaintOf(id, elements);
    if (complaint !== undefined) throw new WorkloadFinding(complaint);
    return elements;
  };

  return {
    tables: [testTable("lists", { partitionKey: "id", history })],
    appendTables: ["lists"],
    // Lists begin as absent rows.
    setUp: () => Promise.resolve(),
    async step({ client, random, isolation, unique, pause }) {
      const touched = new Set(ids.filter(() => random.chance(2 / ids.length)).slice(0, 4));
      touched.add(random.pick(ids));
      const appended = [...touched].filter(() => random.chance(0.7));
      const lingersMs = random.chance(0.2) ? random.between(1, 300) : 0;
      const { result: read } = await client.transact({ isolation }, async (tx) => {
        const seen = new Map<string, readonly string[]>();
        for (const id of touched) {
          const elements = await listOf(tx, id);
          seen.set(id, elements);
          if (lingersMs > 0) await pause(lingersMs);
          if (appended.includes(id)) tx.put(lists, { id, elements: [...elements, unique] });
        }
        return seen;
      });
      for (const [id, elements] of read) {
        // Others may have noted theirs meanwhile, in whatever order.
        const complaint = complaintOf(id, elements);
        if (complaint !== undefined) throw new WorkloadFinding(complaint);
        note(id, elements);
      }
      for (const id of appended) acknowledged.get(id)?.add(unique);
    },
    async judge(client) {
      const rows = await client.snapshot((snapshot) =>
        snapshot.batchGet(
          lists,
          ids.map((id) => ({ id })),
        ),
      );
      return ids.flatMap((id, index) => {
        const elements = rows[index]?.elements ?? [];
        const missing = [...(acknowledged.get(id) ?? [])].filter(
          (each) => !elements.includes(each),
        );
        const lost = missing.map((each) => `${id} has lost the acknowledged element ${each}`);
        const shorter = elements.length < (longest.get(id)?.length ?? 0);
        const cut = shorter ? [`${id} has been read longer than it is`] : [];
        const complaint = complaintOf(id, elements);
        return [...lost, ...cut, ...(complaint === undefined ? [] : [complaint])];
      });
    },
  };
};
