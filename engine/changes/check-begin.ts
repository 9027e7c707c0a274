/** What a feed refuses: tables that it cannot follow, and places that nobody has come to yet. */
import { InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { TableDescription } from "../../core/types.ts";
import type { Call } from "../call.ts";
import { orAborted } from "../concurrency.ts";
import type { Sessions } from "../sessions.ts";
import type { TableRegistry } from "../table-registry.ts";
import { newestIn } from "./change-begin.ts";
import type { ChangePosition, ChangesOptions } from "./types.ts";

type Asked = Pick<ChangesOptions, "tables" | "before" | "mixed">;

/** By a registry that was read just now: a table may have become mixed since the last use. */
export async function checkTablesAnew(
  registry: TableRegistry,
  asked: Asked,
  { signal }: Pick<Call, "signal">,
): Promise<void> {
  const isOld = registry.ageMs > limits.registryReloadMsMin;
  if (asked.tables !== undefined && isOld) await orAborted(registry.reload(), signal);
  checkTables(registry, asked);
}

/**
 * From memory.
 * @throws InvalidRequestError for a table that is not registered, that shows no past, or of which
 * not all is in the log.
 */
export function checkTables(
  registry: Pick<TableRegistry, "describe">,
  { tables, before, mixed }: Asked,
): void {
  for (const name of tables ?? []) {
    const table = registry.describe(name);
    if (mixed === "refuse") refuseMixed(table);
    if (!before || table.history) continue;
    throw new InvalidRequestError(
      "before",
      `table ${name} keeps no history, so nobody knows what stood there before; ` +
        "register it with history, or leave out `before`",
    );
  }
}

function refuseMixed({ name, access, move }: TableDescription): void {
  if (access !== "mixed" && move === undefined) return;
  const state =
    move === undefined
      ? "is mixed"
      : move.to === "mixed"
        ? "is on its way to mixed"
        : "is on its way from mixed to transactional";
  throw new InvalidRequestError(
    "tables",
    `table "${name}" ${state}: native writes, and transactions that touch one item of it alone, ` +
      "are in no log, and a feed of it would lack them without a sign; have it written by " +
      `transactions alone (\`npx tidemark move ${name} --access transactional\`), leave it out ` +
      'of `tables`, or say `mixed: "only-logged"` to be given what is in the log',
  );
}

/**
 * A feed would wait there in silence, and pass by all that is committed until then.
 * @param at.field what the caller has named the place by.
 * @throws InvalidRequestError for a place in the future, as of `asOf`.
 */
export async function checkPlace(
  { timestamp }: ChangePosition,
  at: {
    readonly ports: ClientPorts;
    readonly sessions: Sessions;
    readonly call: Call;
    readonly field: string;
  },
): Promise<void> {
  const latest = (nowMs: number): number => (nowMs + limits.asOfAheadMsMax) * 1_000;
  if (timestamp <= latest(at.ports.clock.nowMs())) return;
  // The logs are at least as late as their ends, whatever a slow clock says.
  if (timestamp <= latest((await newestIn(at.sessions, at.call)) / 1_000)) return;
  throw new InvalidRequestError(
    at.field,
    `\`${at.field}\` lies in the future: ${timestamp} is more than ${limits.asOfAheadMsMax} ms ` +
      'from now; `"now"` gives what is committed from now on',
  );
}
