/**
 * Which tables are mixed: a list that the application gives, or what a client of Tidemark knows of
 * its deployment's registry. Asked for again in the background, so that a call waits for it only at
 * first, and after a long pause.
 */
import * as limits from "../core/limits.ts";
import type { NativeTable } from "../core/native-support.ts";

/** From a table's name, or its ARN. */
export type MixedTables = { find(name: unknown): NativeTable | undefined };

export class KnownTables implements MixedTables {
  readonly #load: () => Promise<readonly NativeTable[]>;
  readonly #nowMs: () => number;
  #tables: ReadonlyMap<string, NativeTable> | undefined;
  #asked = -Infinity;
  #loading: Promise<void> | undefined;

  constructor(load: () => Promise<readonly NativeTable[]>, nowMs: () => number) {
    this.#load = load;
    this.#nowMs = nowMs;
  }

  /** Undefined: they are as new as they have to be. */
  ready(): Promise<void> | undefined {
    const ageMs = this.#nowMs() - this.#asked;
    if (ageMs <= limits.nativeTablesMsMax / 2) return undefined;
    const loading = this.#reload();
    if (ageMs > limits.nativeTablesMsMax) return loading;
    loading.catch(() => undefined);
    return undefined;
  }

  find(name: unknown): NativeTable | undefined {
    if (typeof name !== "string") return undefined;
    const known = this.#tables;
    return known?.get(name) ?? known?.get(/:table\/([^/]+)$/u.exec(name)?.[1] ?? "");
  }

  async #reload(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
  }

  async #read(): Promise<void> {
    const asked = this.#nowMs();
    try {
      const tables = await this.#load();
      this.#tables = new Map(tables.map((table) => [table.name, table]));
    } catch (error) {
      // Native operations go on where the registry does not answer: most likely it is as it was.
      if (this.#tables === undefined) throw error;
    }
    this.#asked = asked;
  }
}
