/** What somebody can break who may keep the positions of feeds (policy `feeds` by itself). */
import { expect } from "vitest";
import { columns } from "./probes.ts";
import { inItsOwnWorld, type Breakage } from "./trial.ts";

const role = "policy feeds";

export const feedTrials: Breakage = {
  can: {
    "the place of any feed, by moving it": inItsOwnWorld(async (world) => {
      const honest = world.stores.ports.feeds;
      const stolen = (await world.as(role)).ports.feeds;
      const state = { position: "1000000000000000", holder: undefined, heldUntilMs: 0 };
      expect(await honest?.put("search", { ...state, turn: 1 })).toBe(true);
      const moved = { ...state, position: "2000000000000000", turn: 2 };
      expect(await stolen?.put("search", moved)).toBe(true);
      expect(await honest?.read("search")).toMatchObject(moved);
    }),
  },
  not: {
    "the log and its decisions": inItsOwnWorld(async (world) => {
      expect(await world.may(role, "log")).toEqual([]);
      expect(await world.may(role, "stream")).toEqual([]);
    }),
    items: inItsOwnWorld(async (world) => {
      expect(await world.may(role, "your tables")).toEqual([]);
      expect(await world.may(role, "mixed ones, too")).toEqual([]);
    }),
    "what a feed gives: it reads none": inItsOwnWorld(async (world) => {
      const rights = await Promise.all(columns.map((column) => world.may(role, column)));
      expect(rights.flat()).toEqual(["reads positions of feeds", "keeps positions of feeds"]);
    }),
  },
};
