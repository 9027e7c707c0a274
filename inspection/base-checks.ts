/** What is well with BASE transactions, and what is not. */
import { expiryState } from "../aws/create-tables.ts";
import { baseExpiryAttribute } from "../core/base-tables.ts";
import { counted, spanText } from "./words/moments.ts";
import { plainText } from "./words/plain-text.ts";
import { denied, ifAllowed, type Allowed } from "./allowed.ts";
import {
  isLeft,
  openBases,
  recordsTable,
  takesBases,
  type SeenBase,
  type SeenBases,
} from "./bases.ts";
import type { Deployment } from "./deployment.ts";
import type { Finding } from "./findings.ts";

const about = "BASE";

/** Nothing where no table takes them. */
export async function baseFindings(
  deployment: Deployment,
  nowMs: number,
): Promise<readonly Finding[]> {
  if (!takesBases(deployment)) return [];
  const table = recordsTable(deployment);
  if (table === undefined) {
    const text = "tables take BASE transactions, and the table of their records is not registered";
    const remedy = "register one of them again: `tidemark register <table> --base` makes it";
    return [{ level: "bad", about, text, remedy }];
  }
  return [
    ...(await expiryFindings(deployment, table.name)),
    baseFinding(await ifAllowed(() => openBases(deployment)), nowMs),
  ];
}

/** Nothing of an embedded stack: its store drops nothing, and no Terraform would change that. */
async function expiryFindings(
  { clients, isLocal }: Pick<Deployment, "clients" | "isLocal">,
  table: string,
): Promise<readonly Finding[]> {
  if (isLocal) return [];
  const handle = await clients.dynamodb();
  const expiry = await ifAllowed(() => expiryState(handle, table));
  return expiry === denied ? [unseenExpiry] : expiry === "off" ? [endlessFinding(table)] : [];
}

const unseenExpiry: Finding = {
  ...{ level: "unknown", about },
  text: "no right to see whether their records expire",
  remedy: "allow dynamodb:DescribeTimeToLive on their table",
};

function endlessFinding(table: string): Finding {
  const text = `what has ended stays in ${table} for ever: it has no TTL`;
  const remedy = `\`terraform apply\` sets it, on the attribute ${baseExpiryAttribute}`;
  return { level: "warning", about, text, remedy };
}

/** Whether any is parked; nothing where no table takes them. */
export async function openBaseFindings(
  deployment: Deployment,
  nowMs: number,
): Promise<readonly Finding[]> {
  if (!takesBases(deployment)) return [];
  return [baseFinding(await ifAllowed(() => openBases(deployment)), nowMs)];
}

/** Pure. */
export function baseFinding(seen: Allowed<SeenBases>, nowMs: number): Finding {
  if (seen === denied) {
    const remedy = "policy read-only has that right, where `tables` have `base = true`";
    return { level: "unknown", about, text: "no right to read their records", remedy };
  }
  const { bases, all } = seen;
  const damaged = bases.filter(({ phase }) => phase === "damaged");
  const [strange] = damaged;
  const parked = bases.filter(({ phase }) => phase === "parked");
  if (strange !== undefined) {
    const alsoParked = parked.length === 0 ? "" : `; ${parked.length} parked besides`;
    const named = plainText(`${strange.name}/${strange.id}: ${strange.failure ?? ""}`);
    return {
      ...{ level: "bad", about },
      text: `${counted(damaged.length, "damaged BASE transaction")}: ${named}${alsoParked}`,
      remedy:
        "restore the item that is named, or upgrade what looks at it; the others go on, and " +
        "`tidemark base` shows them",
    };
  }
  const [oldest] = bases;
  if (oldest === undefined) return { level: "fine", about, text: "no BASE transaction is open" };
  const age = spanText(nowMs - oldest.startedMs);
  const text = `${counted(all, "BASE transaction")} open, the oldest for ${age}`;
  const least = all > bases.length ? " at least" : "";
  if (parked.length === 0) {
    const left = bases.filter((base) => isLeft(base, nowMs));
    if (left.length === 0) return { level: "fine", about, text };
    return {
      ...{ level: "warning", about },
      text: `${text}; nobody is at ${left.length}${least}: ${firstOf(left)}`,
      remedy:
        "look whether a runner with its handler, in its version, is up (docs/operations.md, " +
        "Runners of BASE transactions); `tidemark base` shows what they failed with",
    };
  }
  return {
    ...{ level: "bad", about },
    text: `${text}; ${parked.length}${least} parked: ${firstOf(parked)}`,
    remedy:
      "`tidemark base` shows what they failed with, and lets them go on" +
      (parked.some(({ steps }) => steps > 0) ? "; they hold their items" : ""),
  };
}

function firstOf(bases: readonly SeenBase[]): string {
  const [first] = bases;
  if (first === undefined) return "none";
  return `${first.name} ${plainText(first.id)}${bases.length === 1 ? "" : ", and others"}`;
}
