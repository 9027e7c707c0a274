/**
 * What a transaction at its end has to ask the stores of mixed tables themselves, in one shard,
 * once it has its place in the log (docs/adr/0014-native-operations.md; Mediator §4.2): fences on
 * all that it writes there, and then what it has only read once more. The order matters: what is
 * checked before the place in the log, or before the fences stand, proves nothing.
 */
import type { ItemAddress } from "../../core/mixed-items-port.ts";
import { UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { Tail } from "../../core/tail.ts";
import type { ReadConflict } from "../../core/transaction-reads.ts";
import type { Stamp, TransactionId } from "../../core/types.ts";
import type { BufferedWrite, WriteBuffer } from "../attempts/write-buffer.ts";
import { Call } from "../call.ts";
import { ignore } from "../concurrency.ts";
import type { NativeChecks } from "../mixed-way.ts";
import { addressOf } from "./mixed-reader.ts";
import type { FenceResult, MixedItems } from "./mixed-items.ts";
import type { MixedReadSet } from "./mixed-read-set.ts";
import { nativeConflict } from "./native-conflict.ts";
import { changedRead } from "./read-again.ts";

/** By its item's identity. */
type FencedWrite = readonly [string, BufferedWrite];

export type NativeSideParts = {
  readonly items: MixedItems;
  readonly ports: Pick<ClientPorts, "clock">;
  readonly set: MixedReadSet;
};

export class NativeSide implements NativeChecks {
  readonly #parts: NativeSideParts;
  readonly #fenced: readonly FencedWrite[];

  constructor(parts: NativeSideParts, writes: WriteBuffer) {
    this.#parts = parts;
    const all = Array.from(writes.entries());
    this.#fenced = all.filter(([, { table }]) => table.access === "mixed");
  }

  get checks(): ReturnType<MixedReadSet["checks"]> {
    return this.#parts.set.checks();
  }

  get fences(): number {
    return this.#fenced.length;
  }

  overtaken(tail: Tail): ReadConflict | undefined {
    return this.#parts.set.overtaken(tail);
  }

  async fence(
    id: TransactionId,
    { sentMs, call }: { readonly sentMs: number; readonly call: CallOptions },
  ): Promise<readonly Stamp[]> {
    const { items, ports, set } = this.#parts;
    // What is sent later, by a machine that has slept, no clean-up would look for.
    const nowMs = ports.clock.nowMs();
    const signBeforeMs = Math.min(nowMs + limits.installSignMsMax, sentMs + limits.ownInstallMsMax);
    const results = await Promise.allSettled(
      this.#fenced.map(([identity, write]) =>
        items.fence(
          { id, at: addressOf(write), read: set.keys.get(identity)?.seen },
          { ...call, signBeforeMs },
        ),
      ),
    );
    return results.map((result, i) => {
      if (result.status === "rejected") throw result.reason;
      if (result.value.kind === "fenced") return result.value.stamp;
      throw fenceError(result.value, this.#fenced[i]?.[1]);
    });
  }

  async compare(id: TransactionId, call: CallOptions): Promise<void> {
    const { items, set } = this.#parts;
    const identities = new Set(this.#fenced.map(([identity]) => identity));
    const changed = await changedRead(items, set, {
      ...{ ...call, own: id },
      isFenced: (identity) => identities.has(identity),
    });
    if (changed !== undefined) throw nativeConflict(changed);
  }

  /**
   * A row that a page covers and that is written unread has compared nothing with its fence. The
   * page may look as it was read because of a native write that has come after the fence; then what
   * it shows lies behind that write, and the transaction's own write before it. Where the fence
   * still stands after the page was read again, the page was that of the fence. A scan's page may
   * be another shard's to read again, and the row this one's.
   */
  async compareRows(id: TransactionId, call: CallOptions): Promise<void> {
    const { items, set } = this.#parts;
    const unread = this.#fenced.filter(([identity, { table }]) => {
      return set.covers(table.name) && !set.keys.has(identity);
    });
    if (unread.length === 0) return;
    // mutant: rows-of-pages-not-compared
    const lost = await items.lostFence(id, addressesOf(unread), call);
    if (lost === undefined) return;
    throw nativeConflict({ table: lost.table.name, key: lost.key });
  }

  async cleanUp(id: TransactionId): Promise<void> {
    const { items, ports } = this.#parts;
    const call = new Call(ports.clock, { deadlineMs: limits.withdrawMsMax });
    await items.cleanUp(id, addressesOf(this.#fenced), call.options).catch(ignore);
    call.end();
  }
}

function fenceError(
  result: Exclude<FenceResult, { kind: "fenced" }>,
  write: BufferedWrite | undefined,
): Error {
  const table = write?.table.name;
  if (result.kind === "changed") return nativeConflict({ table, key: write?.key });
  if (result.kind === "crowded") {
    return new UnavailableError(
      `others wrote an item of table "${table ?? ""}" again and again while it was about to be ` +
        "written",
    );
  }
  return new UnavailableError(
    `it is not known whether an item of table "${table ?? ""}" was fenced; nothing was committed`,
    { cause: result.cause },
  );
}

function addressesOf(writes: readonly FencedWrite[]): readonly ItemAddress[] {
  return writes.map(([, write]) => addressOf(write));
}
