/**
 * That what a block writes is held against the registry (docs/protocol.md §3, rule 6): no oracle
 * does it for a client's own block. By the client's copy, which is as young as an oracle's.
 */
import * as limits from "../../core/limits.ts";
import { isOwnTable } from "../../core/own-tables.ts";
import type { Clock } from "../../core/ports.ts";
import type { TableDescription } from "../../core/types.ts";
import { ignore, noLongerNeeded } from "../concurrency.ts";
import { TableRefusedError, type TableRegistry } from "../table-registry.ts";

type Registry = Pick<TableRegistry, "ageMs" | "keepBelow" | "reload" | "find">;

export class RegistryGuard {
  readonly #registry: Registry;
  readonly #clock: Clock;

  constructor(registry: Registry, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
  }

  /** Whether one may go by the copy; if it grows old, this begins to read it again. */
  checkFresh(): boolean {
    this.#registry.keepBelow(limits.expressRegistryMsMax);
    return this.#registry.ageMs <= limits.expressRegistryMsMax;
  }

  /** Waits for a younger copy where a long body has let it grow old; not for long. */
  async refreshed(): Promise<void> {
    if (this.checkFresh()) return;
    const over = new AbortController();
    const patience = this.#clock.sleep(limits.expressAnswerMsMax, over.signal);
    try {
      await Promise.race([this.#registry.reload(), patience]).catch(ignore);
    } finally {
      patience.catch(ignore);
      over.abort(noLongerNeeded);
    }
  }

  /** @throws TableRefusedError for one that has changed since its rows were written. */
  refuseChanged(written: Iterable<TableDescription>): void {
    const changed = [...new Set(written)].filter(
      (table) => !isOwnTable(table.name) && this.#registry.find(table.name) !== table,
    );
    if (changed.length === 0) return;
    const names = changed.map(({ name }) => `"${name}"`).join(", ");
    throw new TableRefusedError(
      `the registry does not have the table ${names} as this process knew it`,
      changed,
    );
  }
}
