/**
 * The shards that an oracle's requests may name as having parts of a transaction. Those that are
 * about to be split off are among them: clients know of a fork before the map does.
 */
import type { CallOptions, ControlStore } from "../../core/ports.ts";
import type { ShardNumber } from "../../core/types.ts";

export class KnownShards {
  readonly #control: Pick<ControlStore, "shardNumbers">;
  readonly #numbers = new Set<ShardNumber>();

  constructor(control: Pick<ControlStore, "shardNumbers">) {
    this.#control = control;
  }

  has(number: ShardNumber): boolean {
    return this.#numbers.has(number);
  }

  /** Reads them if one of these is not known. */
  async know(named: Iterable<ShardNumber>, call: CallOptions): Promise<void> {
    for (const number of named) {
      if (this.has(number)) continue;
      for (const each of await this.#control.shardNumbers(call)) this.#numbers.add(each);
      return;
    }
  }
}
