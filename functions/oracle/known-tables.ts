/**
 * The registry of tables as the oracle holds it. Read once and kept; read again when it is old, and
 * when a payload does not fit it, since the table may be new: at a bounded rate, so that a flood of
 * such payloads costs one read a second. Verdicts stay a function of the log: they are in it, and a
 * rebuilt oracle folds them without asking here.
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, Clock, ControlStore } from "../../core/ports.ts";
import { elapsedMs, instantOf, type Instant } from "../../engine/elapsed.ts";
import { TableCatalogue } from "../../schemas/table-catalogue.ts";

export type KnownTablesPorts = {
  readonly control: Pick<ControlStore, "tables" | "idempotencyTable">;
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs">;
};

export class KnownTables {
  readonly #ports: KnownTablesPorts;
  #catalogue: TableCatalogue | undefined;
  #asked: Instant | undefined;

  constructor(ports: KnownTablesPorts) {
    this.#ports = ports;
  }

  get catalogue(): TableCatalogue {
    assert(this.#catalogue !== undefined, "oracle: the registry is read before payloads are");
    return this.#catalogue;
  }

  /** Reads the registry if there is none, or it is old. @throws StoreError */
  async ready(options: CallOptions): Promise<void> {
    if (this.#catalogue === undefined || this.#ageMs() > limits.oracleRegistryAgeMsMax) {
      await this.#read(options);
    }
  }

  /** Reads it again, unless it was read a moment ago. Whether it did. @throws StoreError */
  async readAgain(options: CallOptions): Promise<boolean> {
    if (this.#ageMs() < limits.oracleRegistryReadMsMin) return false;
    await this.#read(options);
    return true;
  }

  #ageMs(): number {
    return elapsedMs(this.#ports.clock, this.#asked);
  }

  async #read(options: CallOptions): Promise<void> {
    const { control, clock } = this.#ports;
    const asked = instantOf(clock);
    const tables = await control.tables(options);
    this.#catalogue = new TableCatalogue(tables, control.idempotencyTable);
    this.#asked = asked;
  }
}
