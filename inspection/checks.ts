/**
 * What `tidemark doctor` looks at, one after the other: each check says what it has found, and goes
 * on where a right is missing.
 */
import { isDeepStrictEqual } from "node:util";
import { describeTable, keyAttributes } from "../aws/described-table.ts";
import { listKinesisShards, covers } from "../aws/kinesis-shards.ts";
import { systemTables } from "../aws/provision.ts";
import { watchStoreDates } from "../aws/store-dates.ts";
import { StoreError, TransactionError } from "../core/errors.ts";
import type { DatedAnswer } from "../core/ports.ts";
import type { Item, KeyAttribute, TableDescription } from "../core/types.ts";
import * as limits from "./limits.ts";
import { counted, spanText } from "./words/moments.ts";
import { denied, ifAllowed } from "./allowed.ts";
import type { Connection, Deployment } from "./deployment.ts";
import type { Finding } from "./findings.ts";

/** What went wrong, as a finding: a defect goes on. */
export async function foundOr(
  about: string,
  remedy: string,
  look: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof StoreError || error instanceof TransactionError)) throw error;
    return [{ level: "bad", about, text: error.message, remedy }];
  }
}

/** The deployment's own tables, as they have to be. */
export async function ownTableFindings({
  ports,
  clients,
}: Connection): Promise<readonly Finding[]> {
  const handle = await clients.dynamodb();
  const about = "deployment";
  const found: Finding[] = [];
  for (const wanted of systemTables(ports.names)) {
    const table = await ifAllowed(() => describeTable(handle, wanted.name));
    if (table === denied) {
      const text = "no right to describe its tables; they are read all the same";
      return [{ level: "unknown", about, text, remedy: "allow dynamodb:DescribeTable on them" }];
    }
    const remedy = "look at the name, the region and the account; `terraform apply` makes it";
    if (table === undefined) {
      found.push({ level: "bad", about, text: `table ${wanted.name} does not exist`, remedy });
    } else if (!isDeepStrictEqual(keyAttributes(table), keyAttributes(wanted))) {
      const text = `table ${wanted.name} has the key ${keyText(keyAttributes(table))}`;
      found.push({ level: "bad", about, text, remedy: "it is not Tidemark's: make it anew" });
    } else if (!table.isReady) {
      const text = `table ${wanted.name} is not active`;
      found.push({ level: "bad", about, text, remedy: "wait, and look at it in AWS's console" });
    }
  }
  if (found.length > 0) return found;
  return [{ level: "fine", about, text: "its three tables are there, with their keys" }];
}

/** How far this machine's clock is from the store's. */
export async function clockFindings({ ports, clients }: Connection): Promise<readonly Finding[]> {
  const { client } = await clients.dynamodb();
  let answer: Dated | undefined;
  const unwatch = watchStoreDates(client, ports.clock, (dated) => {
    answer ??= { ...dated, atMs: ports.clock.nowMs() };
  });
  try {
    await ports.control.shardEntries();
  } catch (error) {
    // A refusal is dated, too; what it is about others find.
    if (!(error instanceof StoreError && error.fault === "rejected")) throw error;
  } finally {
    unwatch();
  }
  return [skewFinding(answer)];
}

/** An answer's date, and this machine's time when it was there. */
export type Dated = DatedAnswer & { readonly atMs: number };

/** Answers are dated to the second. Pure. */
export function skewFinding(answer: Dated | undefined): Finding {
  const about = "clock";
  if (answer === undefined) return { level: "unknown", about, text: "no answer is dated" };
  const { atMs, dateMs, receivedMs, sentMs } = answer;
  // The date was made between sending and receiving, and has left out what is below a second.
  const aheadMs = atMs - (receivedMs - sentMs) - (dateMs + 1_000);
  const behindMs = dateMs - atMs;
  const skewMs = Math.max(0, aheadMs, behindMs);
  if (skewMs < limits.skewWarningMs) {
    return { level: "fine", about, text: "within two seconds of the store's" };
  }
  const side = aheadMs > behindMs ? "ahead of" : "behind";
  const text = `this machine's is ${spanText(skewMs)} ${side} the store's`;
  const remedy = "set it by NTP: AWS refuses signatures that are five minutes off";
  return { level: skewMs < limits.skewBadMs ? "warning" : "bad", about, text, remedy };
}

/** The stream, as far as it can be seen. */
export async function streamFindings(deployment: Deployment): Promise<readonly Finding[]> {
  const { ports, clients, registry, logs } = deployment;
  const about = "stream";
  const { stream } = ports.names;
  if (registry.streamless === true) {
    return [{ level: "fine", about, text: "none: clients append to the logs themselves" }];
  }
  const shards = await ifAllowed(async () => listKinesisShards(await clients.kinesis(), stream));
  if (shards === denied) {
    const text = "no right to list its shards";
    return [{ level: "unknown", about, text, remedy: "policy read-write has that right" }];
  }
  const open = shards.filter(({ lastSequenceNumber }) => lastSequenceNumber === undefined);
  const without = logs.filter((log) => !open.some((each) => covers(each, log)));
  if (without.length > 0) {
    const numbers = without.map(({ number }) => number).join(", ");
    const text = `no open Kinesis shard carries shard ${numbers}`;
    return [{ level: "bad", about, text, remedy: `look at ${stream} in AWS's console` }];
  }
  const carriers = counted(open.length, "open Kinesis shard");
  const text = `${stream} has ${carriers} for ${counted(logs.length, "shard")} of the deployment`;
  return [{ level: "fine", about, text }];
}

/** Each registered table against its own description, and whether it can be read. */
export async function tableFindings(deployment: Deployment): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const table of deployment.registry.tables) {
    const own = await described(deployment, table);
    found.push(...own);
    if (!own.some(({ level }) => level === "bad"))
      found.push(...(await readable(deployment, table)));
  }
  if (found.length > 0) return found;
  const { length } = deployment.registry.tables;
  const text =
    length === 0
      ? "none is registered; `tidemark tables register <name>` does it"
      : `all ${length} registered ones are there, as registered, and can be read`;
  return [{ level: "fine", about: "tables", text }];
}

async function readable(
  { ports }: Deployment,
  table: TableDescription,
): Promise<readonly Finding[]> {
  const about = `table ${table.name}`;
  const read = await ifAllowed(() => ports.items.get(table, someKey(table)));
  if (read !== denied) return [];
  const remedy = "add it to the module's `tables`, or to the policy of this role";
  return [{ level: "bad", about, text: "no right to read its items", remedy }];
}

async function described(
  { clients }: Deployment,
  table: TableDescription,
): Promise<readonly Finding[]> {
  const about = `table ${table.name}`;
  const handle = await clients.dynamodb();
  const stored = await ifAllowed(() => describeTable(handle, table.name));
  if (stored === denied) {
    const text = "no right to describe it, so its key and indexes are not compared";
    return [{ level: "unknown", about, text, remedy: "allow dynamodb:DescribeTable on it" }];
  }
  if (stored === undefined) {
    const remedy = "its writes become dead letters: make it again, or write to it no more";
    return [{ level: "bad", about, text: "it is registered, and does not exist", remedy }];
  }
  if (!isDeepStrictEqual(keyAttributes(stored), keyAttributes(table))) {
    const text = `its key is ${keyText(keyAttributes(stored))}, and registered is another one`;
    const remedy = "a key cannot change: register the table under another name";
    return [{ level: "bad", about, text, remedy }];
  }
  const names = (all: readonly string[] = []): readonly string[] => [...all].sort();
  if (isDeepStrictEqual(names(stored.indexNames), names(table.indexNames))) return [];
  const text = `its indexes are ${names(stored.indexNames).join(", ") || "none"}, registered are ${
    names(table.indexNames).join(", ") || "none"
  }`;
  const remedy = `\`tidemark tables register ${table.name}\` looks at them anew`;
  return [{ level: "warning", about, text, remedy }];
}

/** One that hardly stands for an item, and whose absence is no matter. */
export function someKey({ partitionKey, sortKey }: TableDescription): Item {
  const keys = [partitionKey, ...(sortKey === undefined ? [] : [sortKey])];
  return Object.fromEntries(keys.map((each) => [each.name, someValue(each)]));
}

function someValue({ type }: KeyAttribute): Item[string] {
  if (type === "N") return { N: "-1" };
  return type === "B" ? { B: new TextEncoder().encode(doctor) } : { S: doctor };
}

const doctor = "tidemark doctor";

function keyText(keys: readonly KeyAttribute[]): string {
  return keys.map(({ name, type }) => `${name}:${type}`).join(",");
}
