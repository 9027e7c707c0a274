/** A block with what its hashes stand for, as far as that is known; and which of it is wanted. */
import type {
  KeyHash,
  LogBlock,
  LogPosition,
  TransactionId,
  Verdict,
  WriteHashes,
} from "../core/types.ts";
import type { ShardLog } from "./deployment.ts";
import type { ReadBlock } from "./log-reading.ts";
import type { NamedWrite, Names } from "./names.ts";

/** Of whatever is undefined all is wanted. */
export type Wanted = {
  readonly id?: TransactionId | undefined;
  readonly table?: KeyHash | undefined;
  readonly key?: KeyHash | undefined;
};

/** How far names are looked for: in the block alone, or wherever payloads lie. */
export type Search = "block" | "payloads";

export type ShownVerdict = {
  readonly verdict: Verdict;
  /** Tables by name, or by hash where none is registered that has it, with the writes to each. */
  readonly tables: readonly { readonly name: string; readonly writes: number }[];
  /** Undefined: not looked for, or not to be had. */
  readonly writes: readonly NamedWrite[] | undefined;
  readonly unreadable: string | undefined;
};

export type ShownBlock = {
  readonly log: ShardLog;
  readonly position: LogPosition;
  readonly bytes: number;
  /** Undefined: it does not decode, and `fault` says why. */
  readonly block: LogBlock | undefined;
  readonly fault: string | undefined;
  /** The wanted ones. */
  readonly verdicts: readonly ShownVerdict[];
};

export function isFiltered({ id, table, key }: Wanted): boolean {
  return id !== undefined || table !== undefined || key !== undefined;
}

/** Aborts name no keys, and a busy one names who is in its way. */
function isWanted(verdict: Verdict, { id, table, key }: Wanted): boolean {
  if (id !== undefined) {
    const isThat = verdict.id === id || (verdict.kind === "busy" && verdict.inTheWay === id);
    if (!isThat) return false;
  }
  if (table === undefined && key === undefined) return true;
  const writes = writesOf(verdict);
  if (key !== undefined) {
    const isChecked = verdict.kind === "prepared" && verdict.checks.includes(key);
    return isChecked || writes.some((write) => write.key === key);
  }
  return writes.some((write) => write.table === table);
}

function writesOf(verdict: Verdict): readonly WriteHashes[] {
  return verdict.kind === "committed" || verdict.kind === "prepared" ? verdict.writes : [];
}

/** Undefined: nothing in it is wanted. One that does not decode always is. */
export async function shownBlock(
  log: ShardLog,
  { position, bytes, block, fault }: ReadBlock,
  {
    wanted,
    names,
    search,
  }: {
    readonly wanted: Wanted;
    readonly names: Names;
    readonly search: Search;
  },
): Promise<ShownBlock | undefined> {
  const verdicts: ShownVerdict[] = [];
  for (const verdict of block?.verdicts ?? []) {
    if (isWanted(verdict, wanted)) verdicts.push(await shown(log, verdict, names, search));
  }
  if (verdicts.length === 0 && isFiltered(wanted) && fault === undefined) return undefined;
  return { log, position, bytes, block, fault, verdicts };
}

async function shown(
  log: ShardLog,
  verdict: Verdict,
  names: Names,
  search: Search,
): Promise<ShownVerdict> {
  const tables = tablesOf(verdict, names);
  const plain = { verdict, tables, writes: undefined, unreadable: undefined };
  if (verdict.kind !== "committed" && verdict.kind !== "prepared") return plain;
  const isHere = verdict.payload.kind === "inline" || verdict.payload.kind === "none";
  if (search === "block" && !isHere) return plain;
  const named = await names.writes(log, verdict);
  if (named.kind === "unreadable") return { ...plain, unreadable: named.because };
  return { ...plain, writes: named.writes };
}

function tablesOf(verdict: Verdict, names: Names): ShownVerdict["tables"] {
  const counts = new Map<KeyHash, number>();
  for (const { table } of writesOf(verdict)) counts.set(table, (counts.get(table) ?? 0) + 1);
  return Array.from(counts, ([table, writes]) => ({
    name: names.table(table)?.name ?? `unknown table ${table.toString(16).padStart(16, "0")}`,
    writes,
  }));
}
