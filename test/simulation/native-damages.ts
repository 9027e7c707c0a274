/** Ways to break the promises of workloads on mixed tables. */
import { defineTable } from "../../sdk/index.ts";
import type { WorkloadName } from "../../simulation/workloads/catalogue.ts";
import { put, type Case } from "./base-damages.ts";

export const nativeDamages = {
  stock: [
    {
      promise: "no unit is made",
      damage: (tx) => {
        put(tx, "depots", { id: "depot", units: 10_000 });
      },
      complaint: /what was sold is -\d+/u,
    },
    {
      promise: "nothing is sold that is not there",
      damage: (tx) => {
        put(tx, "goods", { id: "good-0", units: -1 });
      },
      complaint: /more of it is sold than there was/u,
    },
  ],
  "status-updates": [
    {
      promise: "no post is lost or made twice",
      damage: async (tx) => {
        const users = defineTable<{ posts: number }>("users");
        await tx.update(users, "user-0", (row) => ({ posts: (row?.posts ?? 0) + 1 }));
      },
      complaint: /user-0 is \d+; /u,
    },
  ],
  sessions: [
    {
      promise: "a session is of one writer",
      damage: (tx) => {
        put(tx, "sessions", { device: "device-0", token: "a", of: "device-0 b" });
      },
      complaint: /device-0 has a torn session/u,
    },
  ],
  "unique-names": [
    {
      promise: "whoever was given a name has it",
      damage: (tx) => {
        put(tx, "names", { name: "name-0", owner: "somebody" });
      },
      complaint: /name-0 is first's, and ended as somebody's/u,
    },
    {
      promise: "an account has its name",
      damage: (tx) => {
        put(tx, "accounts-by-owner", { name: "name-0", owner: "somebody" });
      },
      complaint: /the account of somebody is without name-0/u,
    },
  ],
  tallies: [
    {
      promise: "no addition is made twice",
      damage: (tx) => {
        put(tx, "tallies", { id: "tally-0", count: 1_000 });
      },
      complaint: /are counted, of /u,
    },
  ],
  "price-lists": [
    {
      promise: "no label goes back to an older price",
      damage: (tx) => {
        for (const n of [0, 1, 2, 3]) put(tx, "labels", { id: `label-${n}`, price: 0, looks: 0 });
      },
      complaint: /label-\d shows the price 0, after \d/u,
    },
  ],
  "native-rows": [
    {
      promise: "no shelf has more rows than its limit",
      damage: (tx) => {
        for (const place of [0, 1, 2, 3, 4]) {
          put(tx, "native-rows", { shelf: "shelf-0", place: `place-${place}`, by: "x" });
        }
      },
      complaint: /shelf-0 has \d rows/u,
    },
    {
      promise: "a count is of what was seen",
      damage: (tx) => {
        put(tx, "row-counts", { shelf: "shelf-1", count: 9 });
      },
      complaint: /shelf-1 counts 9/u,
    },
  ],
} satisfies { readonly [Name in WorkloadName]?: readonly Case[] };
