/**
 * Rooms with a limit: a booking is inserted if a count of the room's bookings, by a query or by a
 * scan, leaves space for it. The inserted rows are new, so nothing but the protection of what was
 * counted keeps two of them from passing the limit together. Snapshot transactions have none, and
 * must be seen to pass it now and then.
 */
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import { numbered, pickHot, upTo } from "./key-spaces.ts";
import { WorkloadFinding, type Snapshot, type WorkloadFactory } from "./workload.ts";

type BookingKey = { readonly room: string; readonly slot: number };
const bookings = defineTable<{ readonly by: string }, BookingKey, "room">("bookings", {
  key: ["room", "slot"],
});
const bookingsMax = 3;
const slots = upTo(7);
type Way = "query" | "pages" | "scan";

export const phantom: WorkloadFactory = ({ keys, history, isolation: planned }) => {
  const rooms = numbered("room", Math.max(2, Math.floor(keys / 2)));
  const mustHold = planned === "serializable";
  let overbooked = 0;

  const complaintOf = (room: string, taken: ReadonlySet<number>): string | undefined =>
    taken.size > bookingsMax ? `${room} has ${taken.size.toString()} bookings` : undefined;

  return {
    tables: [
      testTable("bookings", {
        partitionKey: "room",
        sortKey: { name: "slot", type: "N" },
        history,
      }),
    ],
    universe: rooms.flatMap((room) =>
      slots.map((slot) => ({
        table: "bookings",
        key: { room: { S: room }, slot: { N: slot.toString() } },
      })),
    ),
    setUp: () => Promise.resolve(),
    async step({ client, random, isolation, unique, pause }) {
      const room = pickHot(random, rooms);
      const way = random.chance(0.1) ? "scan" : random.pick<Way>(["query", "pages"]);
      const lingersMs = random.chance(0.4) ? random.between(1, 150) : 0;
      const slot = pickHot(random, slots);
      const { result: complaint } = await client.transact({ isolation }, async (tx) => {
        const taken = await slotsTaken(tx, room, way);
        const found = complaintOf(room, taken);
        if (found !== undefined && mustHold) throw new WorkloadFinding(found);
        if (lingersMs > 0) await pause(lingersMs);
        if (taken.has(slot) || taken.size > bookingsMax) {
          tx.delete(bookings, { room, slot: taken.has(slot) ? slot : Math.min(...taken) });
        } else if (taken.size < bookingsMax) {
          tx.put(bookings, { room, slot, by: unique });
        }
        return found;
      });
      if (complaint !== undefined) overbooked += 1;
    },
    async judge(client) {
      const taken = await client.snapshot((snapshot) =>
        Promise.all(rooms.map((room) => slotsTaken(snapshot, room, "query"))),
      );
      const complaints = rooms.flatMap((room, index) => {
        const found = complaintOf(room, taken[index] ?? new Set());
        return found === undefined ? [] : [found];
      });
      if (mustHold) return complaints;
      overbooked += complaints.length;
      return [];
    },
    observations: () => ({ phantom: overbooked }),
  };
};

async function slotsTaken(
  reader: Pick<Snapshot, "query" | "scan">,
  room: string,
  way: Way,
): Promise<ReadonlySet<number>> {
  const taken = new Set<number>();
  if (way === "scan") {
    const rows = await reader.scan(bookings, { filter: (row) => row.room === room }).all();
    for (const row of rows) taken.add(row.slot);
    return taken;
  }
  const rows = reader.query(bookings, { where: { room }, descending: way === "pages" });
  let cursor: string | undefined;
  do {
    const page = await rows.page({
      ...(way === "pages" ? { limit: 2 } : {}),
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const row of page.rows) taken.add(row.slot);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return taken;
}
