/** The control table's list of tables, as one process holds it: loaded once, loaded again when a name is missing. */
import { InvalidRequestError } from "../core/errors.ts";
import type { Clock, ControlStore } from "../core/ports.ts";
import type { TableDescription } from "../core/types.ts";

/** A missing table is looked for again at most this often, so that a typo costs no call per use. */
const reloadMsMin = 1_000;
/** Changes to known tables (history switched on) are noticed within this time. */
const reloadMsMax = 60_000;

export class TableRegistry {
  readonly #control: ControlStore;
  readonly #clock: Clock;
  #tables: Map<string, TableDescription> | undefined;
  #loading: Promise<void> | undefined;
  #loadedMs = Number.NEGATIVE_INFINITY;

  constructor(control: ControlStore, clock: Clock) {
    this.#control = control;
    this.#clock = clock;
  }

  /** Loads the list when there is none, or it is old. */
  async ready(): Promise<void> {
    if (this.#tables === undefined || this.#clock.monotonicMs() - this.#loadedMs > reloadMsMax) {
      await this.reload();
    }
  }

  async reload(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
  }

  async #load(): Promise<void> {
    const tables = await this.#control.tables();
    this.#tables = new Map(tables.map((description) => [description.name, description]));
    // Even where somebody has registered it: watermarks, the registry and secrets are nobody's rows.
    this.#tables.delete(this.#control.idempotencyTable.name);
    this.#loadedMs = this.#clock.monotonicMs();
  }

  /**
   * From memory.
   * @throws InvalidRequestError for an unknown table.
   */
  describe(table: string): TableDescription {
    const description = this.#tables?.get(table);
    if (description !== undefined) return description;
    throw new UnknownTableError(
      "table",
      `table "${table}" is not registered with this deployment; register it (Terraform's tables, or registerTables) and try again`,
    );
  }

  /** Whether a look at the control table could know more than memory does. */
  get mayBeStale(): boolean {
    return this.#clock.monotonicMs() - this.#loadedMs >= reloadMsMin;
  }
}

/** Told apart inside the engine, which reloads the registry and tries once more. */
export class UnknownTableError extends InvalidRequestError {}
