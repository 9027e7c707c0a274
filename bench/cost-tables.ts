/** What `bench:cost` has found, as tables of a terminal. */
import type { CommitPreference } from "../engine/types.ts";
import { type Cost, type PricedCost, short, unitsText } from "./cost.ts";
import { nativeByRule, type NativeCosts, type NativeTask } from "./native-calls.ts";

type CostPart = "transaction" | "tail" | "oracle" | "replay";

export type CostRow = NativeTask & {
  readonly commit: CommitPreference;
  readonly load: "alone" | "in turn" | "×64";
  readonly parts: Readonly<Record<CostPart, Cost>>;
  readonly total: PricedCost;
};

export type NativeRow = NativeTask & {
  readonly rule: NativeCosts;
  /** Undefined where the store knows no transactions. */
  readonly reported: NativeCosts | undefined;
};

export function printCosts(rows: readonly CostRow[], natives: readonly NativeRow[]): void {
  console.log("per transaction; each part as read units / write units / calls\n");
  for (const commit of new Set(rows.map((row) => row.commit))) {
    printParts(
      commit,
      rows.filter((row) => row.commit === commit),
    );
  }
  printWays(rows);
  printNative(natives);
}

function task({ shape, items }: NativeTask): string {
  return `${shape}, ${items.toString()} ${items === 1 ? "item" : "items"}`;
}

function printParts(commit: CommitPreference, rows: readonly CostRow[]): void {
  const line = (cells: readonly string[]): string =>
    cells.map((cell, n) => (n === 0 ? cell.padEnd(36) : cell.padStart(n < 6 ? 19 : 12))).join("");
  console.log(
    line([
      `commit: ${commit}`,
      ...["transaction", "tail", "oracle", "replay", "total"],
      ...["$/million", "× plain", "× Transact"],
    ]),
  );
  for (const row of rows) {
    const { plain } = nativeByRule(row);
    const { dollarsPerMillion } = row.total;
    console.log(
      line([
        `${task(row)}, ${row.load}`,
        ...[...Object.values(row.parts), row.total].map(unitsText),
        dollarsPerMillion.toFixed(2),
        (dollarsPerMillion / plain.dollarsPerMillion).toFixed(2),
        timesTransact(row).toFixed(2),
      ]),
    );
  }
  console.log("");
}

function timesTransact(row: CostRow): number {
  return row.total.dollarsPerMillion / nativeByRule(row).transact.dollarsPerMillion;
}

/** The ways to commit beside each other. */
function printWays(rows: readonly CostRow[]): void {
  const ways = [...new Set(rows.map(({ commit }) => commit))];
  if (ways.length < 2) return;
  const line = (cells: readonly string[]): string =>
    cells.map((cell, n) => (n === 0 ? cell.padEnd(36) : cell.padStart(10))).join("");
  console.log(line(["dollars × TransactWriteItems", ...ways]));
  const nameOf = (row: CostRow): string => `${task(row)}, ${row.load}`;
  for (const name of new Set(rows.map(nameOf))) {
    const cells = ways.map((way) => {
      const row = rows.find((each) => each.commit === way && nameOf(each) === name);
      return row === undefined ? "–" : timesTransact(row).toFixed(2);
    });
    console.log(line([name, ...cells]));
  }
  console.log("");
}

function printNative(rows: readonly NativeRow[]): void {
  const line = (cells: readonly string[]): string =>
    cells.map((cell, n) => (n === 0 ? cell.padEnd(33) : cell.padStart(26))).join("");
  const text = (cost: PricedCost | undefined): string =>
    cost === undefined ? "–" : `${unitsText(cost)} = $${cost.dollarsPerMillion.toFixed(2)}`;
  console.log("the same items (below 1 KB) natively\n");
  const [plain, transact] = ["plain calls", "TransactWriteItems"];
  console.log(line(["", plain, plain, transact, transact, transact]));
  console.log(line(["", "reported", "rule", "reported", "rule", "write units reported/rule"]));
  for (const row of rows) {
    const { rule, reported } = row;
    const factor =
      reported === undefined ? "–" : short(reported.transact.writeUnits / rule.transact.writeUnits);
    console.log(
      line([
        task(row),
        ...[text(reported?.plain), text(rule.plain)],
        ...[text(reported?.transact), text(rule.transact), factor],
      ]),
    );
  }
  const one = rows.find(({ items, reported }) => items === 1 && reported !== undefined);
  if (one?.reported === undefined) return;
  const { writeUnits } = one.reported.transact;
  console.log(
    `\nDynamoDB Local reports ${short(writeUnits)} write units for one item put by ` +
      "TransactWriteItems, " +
      `${short(writeUnits / one.rule.transact.writeUnits)} times what DynamoDB charges,\n` +
      "and of several items in one table it counts only one: its figures for transactions are " +
      "not a price.",
  );
}
