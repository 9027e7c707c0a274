/** Whose turn it is to keep house, among clients of a deployment of tables alone. */
import type { ControlStore } from "../core/ports.ts";
import type { ControlCondition, ControlTable } from "./control-table.ts";
import { notExists } from "./control-table.ts";
import { booleanOf, integerOf } from "./stored-attributes.ts";

const key = { pk: "house", sk: "turn" };

export function createHouseTurns(
  control: ControlTable,
): Pick<ControlStore, "houseTurn" | "putHouseTurn"> {
  return {
    async houseTurn(options) {
      const item = await control.get(key, options);
      if (item === undefined) return undefined;
      const stored = { what: "turn to keep house", item };
      return { turn: integerOf(stored, "turn"), isOver: booleanOf(stored, "isOver") };
    },
    async putHouseTurn({ turn, isOver }, after, options) {
      const unchanged: ControlCondition = {
        expression: "#turn = :after",
        names: { "#turn": "turn" },
        values: { ":after": { N: String(after) } },
      };
      const condition = after === undefined ? notExists : unchanged;
      const attributes = { turn: { N: turn.toString() }, isOver: { BOOL: isOver } };
      return (await control.put(key, attributes, { ...options, condition })) === "done";
    },
  };
}
