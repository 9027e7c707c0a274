/**
 * The registry of tables as the oracle holds it. Read once and kept; read again when it is old, and
 * when a payload does not fit it, since the table may be new. The rate of that is bounded, with
 * room for a burst: a flood of such payloads costs one read a second, and tables that are made one
 * after the other are known at once. Verdicts stay a function of the log: they are in it, and a
 * rebuilt oracle folds them without asking here.
 *
 * Why not a TableRegistry (engine/table-registry.ts): payloads are compared as bytes, and a batch
 * does not wait until the next look is due.
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
  /** Reads that misfits may still cause. */
  #readsLeft: number = limits.oracleRegistryReadsMax;
  #refilled: Instant | undefined;

  constructor(ports: KnownTablesPorts) {
    this.#ports = ports;
  }

  get catalogue(): TableCatalogue {
    assert(this.#catalogue !== undefined, "oracle: the registry is read before payloads are");
    return this.#catalogue;
  }

  /** Reads the registry if there is none, or it is old. @throws StoreError */
  async ready(options: CallOptions): Promise<void> {
    if (this.isOld) await this.#read(options);
  }

  /** Whether what is in memory, if it is, says too little of the registry by now. */
  get isOld(): boolean {
    const ageMs = elapsedMs(this.#ports.clock, this.#asked);
    return this.#catalogue === undefined || ageMs > limits.oracleRegistryAgeMsMax;
  }

  /** Reads it again, unless it was read too often lately. Whether it did. @throws StoreError */
  async readAgain(options: CallOptions): Promise<boolean> {
    this.#refill();
    if (this.#readsLeft < 1) return false;
    this.#readsLeft -= 1;
    await this.#read(options);
    return true;
  }

  #refill(): void {
    const { clock } = this.#ports;
    const earned = elapsedMs(clock, this.#refilled) / limits.oracleRegistryReadMsMin;
    this.#readsLeft = Math.min(this.#readsLeft + earned, limits.oracleRegistryReadsMax);
    this.#refilled = instantOf(clock);
  }

  async #read(options: CallOptions): Promise<void> {
    const { control, clock } = this.#ports;
    const asked = instantOf(clock);
    const tables = await control.tables(options);
    this.#catalogue = new TableCatalogue(tables, control.idempotencyTable);
    this.#asked = asked;
  }
}
