/** What a started stack says about itself: where everything is, and something to try. */
import { baseRecordsTable } from "../core/base-tables.ts";
import { ownTables as tablesOf } from "../core/own-tables.ts";
import type { TableDescription } from "../core/types.ts";
import type { EmbeddedStack } from "./embedded-stack.ts";
import { accountsTable, sampleTables, ticketTables } from "./sample-tables.ts";

const indent = "\n               ";

export function announcement(
  stack: EmbeddedStack,
  settings: {
    readonly dataFolder: string | undefined;
    /** Those of its tables that the user has described. */
    readonly ownTables: readonly string[];
    readonly configFile: string | undefined;
    readonly consoleUrl: string | undefined;
  },
): string {
  const { dataFolder, ownTables, configFile, consoleUrl } = settings;
  const { endpoint, endpoints, deployment, region, registered, tablesOnly, shards } = stack;
  const kept = dataFolder === undefined ? "in memory, gone when this stops" : `in ${dataFolder}`;
  const isSample = ({ name }: TableDescription): boolean =>
    !ownTables.includes(name) && sampleTables.some((sample) => sample.name === name);
  const samples = registered.filter(isSample).map(({ name }) => name);
  // Registered like a user's, and nobody's to use.
  const records = baseRecordsTable(tablesOf(deployment).controlTable);
  const own = registered
    .filter((table) => !isSample(table) && table.name !== records)
    .map(withAccess);
  const lines = [
    "",
    "  Tidemark is running.",
    "",
    ...(consoleUrl === undefined ? [] : [`  Console      ${consoleUrl}`]),
    `  REST API     ${endpoint}`,
    `  DynamoDB     ${endpoints.dynamodb}`,
    tablesOnly
      ? "  Commits      clients append them to the log's table; there is no stream"
      : `  Kinesis      ${endpoints.kinesis}`,
    `  Deployment   ${deployment}   (region ${region}; any credentials do)`,
    ...(shards > 1 ? [`  Shards       ${shards}, with a log each`] : []),
    `  Data         ${kept}`,
    ...(configFile === undefined ? [] : [`  Settings     from ${configFile}`]),
    ...(own.length === 0 ? [] : [`  Your tables  ${wrapped(own, indent)}`]),
    ...(samples.length === 0
      ? []
      : [
          `  Tables       ${wrapped(samples, indent)}`,
          "               (filled with sample rows when they were made)",
        ]),
    "",
    "  From TypeScript:",
    `    createClient({ endpoint: "${endpoint}" })`,
    "",
    ...(samples.includes(accountsTable.name) ? firstTries(endpoint) : []),
    ...(registered.length > 0
      ? []
      : ["  Tables of yours: --table <name>:<key>, or tidemark register <name>", ""]),
    "  Ctrl-C stops it.",
    "",
  ];
  return `${lines.join("\n")}\n`;
}

/** One line for programs; `processes` are the children's process ids. */
export function announcementJson(stack: EmbeddedStack, console?: string): string {
  const { endpoint, endpoints, deployment, region, tables, tablesOnly, shards, processes } = stack;
  const where = { endpoint, endpoints, deployment, region };
  return `${JSON.stringify({ ...where, tables, tablesOnly, shards, processes, console })}\n`;
}

function withAccess({ name, access, move, baseSince }: TableDescription): string {
  if (move !== undefined) return `${name} (on its way to ${move.to})`;
  if (baseSince !== undefined) return `${name} (base)`;
  return access === "mixed" ? `${name} (mixed)` : name;
}

function firstTries(endpoint: string): readonly string[] {
  return ["  A first try:", ...firstTry(endpoint), "", "  Who sits where:", ...seats(endpoint), ""];
}

/** The seats of the sample event, as they are together at one moment. */
function seats(endpoint: string): readonly string[] {
  const query = { table: ticketTables.seats.name, partitionKey: "matinee" };
  return [
    `    curl -s ${endpoint}/v1/snapshots -H 'content-type: application/json' -d '{`,
    `      "reads": { "queries": [${JSON.stringify(query)}] } }'`,
  ];
}

/** Moves 5.00 between two sample accounts, if the first has them. */
function firstTry(endpoint: string): readonly string[] {
  const { name: table } = accountsTable;
  const move = (id: string, cents: number): object => ({
    op: "update",
    table,
    key: { id },
    add: { balanceCents: cents },
  });
  const condition = { attributes: { balanceCents: { gte: 500 } } };
  return [
    `    curl -s ${endpoint}/v1/transactions -H 'content-type: application/json' -d '{`,
    `      "writes": [`,
    `        ${JSON.stringify({ ...move("account-000", -500), condition })},`,
    `        ${JSON.stringify(move("account-001", 500))}`,
    `      ], "returnItems": true }'`,
  ];
}

function wrapped(names: readonly string[], separator: string): string {
  const perLine = 4;
  const lines: string[] = [];
  for (let start = 0; start < names.length; start += perLine) {
    lines.push(names.slice(start, start + perLine).join(", "));
  }
  return lines.join(`,${separator}`);
}
