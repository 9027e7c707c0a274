/**
 * The control table's list of tables, as one client process holds it, and replay: loaded again when
 * it is old, when a name is missing, and when the oracle refuses a table that it names.
 *
 * The oracle keeps its own (functions/oracle/known-tables.ts): it compares bytes, reads again at
 * another pace, and needs no retention; what both share is one call.
 */
import { assert } from "../core/assert.ts";
import { InvalidRequestError, UnavailableError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import { isOwnTable } from "../core/own-tables.ts";
import type { ClientPorts, Clock } from "../core/ports.ts";
import { isClosed } from "../core/table-access.ts";
import type { HistoryRetention, TableDescription } from "../core/types.ts";
import { ignore, orAborted } from "./concurrency.ts";
import { elapsedMs, instantOf, type Instant } from "./elapsed.ts";

const refusedTables = new OnDemand("refused tables", () => import("./refused-tables.ts"));

export class TableRegistry {
  readonly #control: ClientPorts["control"];
  readonly #clock: Clock;
  #tables: Map<string, TableDescription> | undefined;
  #loading: Promise<void> | undefined;
  #retention: HistoryRetention | undefined;
  /** Whether the deployment is one of tables alone, as far as that is known. */
  streamless = false;
  /** When what is in memory was asked for. */
  #asked: Instant | undefined;

  constructor(control: ClientPorts["control"], clock: Clock) {
    this.#control = control;
    this.#clock = clock;
  }

  /**
   * Loads the list when there is none, or it is old: nobody goes by an older state of what is kept
   * of the past (core/history.ts), and a machine may have slept since.
   */
  async ready(): Promise<void> {
    const isMoving = this.all().some(({ move }) => move !== undefined);
    // So that a table on its way need not be closed for long.
    const ageMsMax = isMoving ? limits.expressRegistryMsMax : limits.registryMsMax;
    if (this.ageMs > ageMsMax) await this.reload();
  }

  /** How long ago what is in memory was asked for; infinite before that. */
  get ageMs(): number {
    return elapsedMs(this.#clock, this.#asked);
  }

  /** Loads it again in the background, so that who uses it all the time finds it younger. */
  keepBelow(ageMsMax: number): void {
    if (this.ageMs > ageMsMax / 2) this.reload().catch(ignore);
  }

  /** The next `ready` reads it again. */
  forget(): void {
    this.#asked = undefined;
  }

  async reload(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
  }

  async #load(): Promise<void> {
    const asked = instantOf(this.#clock);
    const { tables, retention, streamless } = await this.#control.registry();
    this.#retention = retention;
    this.streamless = streamless === true;
    // Even where somebody has registered one: watermarks, the registry and secrets are nobody's
    // rows.
    const users = tables.filter(({ name }) => !isOwnTable(name));
    const known = this.#tables;
    this.#tables = new Map(
      users.map((found) => [found.name, unchanged(known?.get(found.name), found) ?? found]),
    );
    this.hasMixed = users.some(({ access }) => access === "mixed");
    this.hasBase = users.some(({ baseSince }) => baseSince !== undefined);
    this.#asked = asked;
  }

  /** How long history is kept, from memory: `ready` comes first. */
  get retention(): HistoryRetention {
    assert(this.#retention !== undefined, "the registry is loaded before it is used");
    return this.#retention;
  }

  find(table: string): TableDescription | undefined {
    return this.#tables?.get(table);
  }

  /** Whether some tables are mixed, from memory. */
  hasMixed = false;

  /** Whether BASE transactions may use some, from memory. */
  hasBase = false;

  /** From memory. */
  all(): readonly TableDescription[] {
    return [...(this.#tables?.values() ?? [])];
  }

  /**
   * From memory.
   * @throws InvalidRequestError for an unknown table.
   */
  describe(table: string): TableDescription {
    const description = this.find(table);
    if (description !== undefined) return description;
    throw new UnknownTableError(
      "table",
      `table "${table}" is not registered with this deployment; register it with ` +
        "`npx tidemark register`, registerTables of tidemark/tables, or Terraform's `tables`",
    );
  }

  /**
   * Resolves once memory knows every table that was registered before the call; that may take until
   * the next look is due.
   */
  async lookAgain(signal: AbortSignal): Promise<void> {
    const callMs = this.#clock.monotonicMs();
    const isOld = (): boolean => (this.#asked?.monotonicMs ?? -Infinity) < callMs;
    while (isOld()) {
      const restMs = limits.registryReloadMsMin - elapsedMs(this.#clock, this.#asked);
      if (restMs > 0) await this.#clock.sleep(restMs, signal);
      // Others who waited may have looked meanwhile.
      if (isOld()) await orAborted(this.reload(), signal);
    }
  }
}

/** The one that is known, if the other says the same: its holders see that nothing changed. */
function unchanged(
  known: TableDescription | undefined,
  found: TableDescription,
): TableDescription | undefined {
  return JSON.stringify(known) === JSON.stringify(found) ? known : undefined;
}

/**
 * The oracle's registry differs, or by now this process's own copy; told apart inside the engine,
 * as the one below is.
 */
export class TableRefusedError extends UnavailableError {
  /** What was written to, as the process knew it then. */
  readonly #tables: readonly TableDescription[];

  constructor(message: string, tables: readonly TableDescription[] = []) {
    super(message);
    this.#tables = tables;
  }

  /** Resolves when none of them is closed, as far as the registry is known. */
  async untilOpen(registry: TableRegistry, signal: AbortSignal): Promise<void> {
    const isShut = ({ name }: TableDescription): boolean => {
      const now = registry.find(name);
      return now !== undefined && isClosed(now);
    };
    while (this.#tables.some(isShut)) await registry.lookAgain(signal);
  }

  /** The same, with what differs from a registry that was read since, and what to do. */
  async comparedWith(registry: Pick<TableRegistry, "find">): Promise<TableRefusedError> {
    const tables = this.#tables;
    if (tables.length === 0) return this;
    return refusedTables.use(({ remedyFor }) =>
      Promise.resolve(new TableRefusedError(`${this.message}: ${remedyFor(tables, registry)}`)),
    );
  }
}

/** Nothing was sent. */
export function closedError(table: TableDescription): TableRefusedError {
  const to = table.move?.to ?? "another access";
  return new TableRefusedError(
    `table "${table.name}" is on its way to ${to} and takes no commits for a moment`,
    [table],
  );
}

/** Told apart inside the engine, which reloads the registry and tries once more. */
export class UnknownTableError extends InvalidRequestError {}
