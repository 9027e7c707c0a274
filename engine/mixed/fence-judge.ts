/**
 * What becomes of fences that are met on items of mixed tables, as one process's tail says
 * (docs/adr/0014-native-operations.md, Items and Readers). Nobody fences before its place is in the
 * log. So a tail that is refreshed after the item was read knows the transaction, or has let go of
 * it below the watermark: then it is settled and installed.
 */
import { CorruptDataError } from "../../core/errors.ts";
import type { FenceFate, MetFence } from "../../core/fence.ts";
import type { ItemAddress } from "../../core/mixed-items-port.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { TailCommit } from "../../core/tail.ts";
import type { CommittedVerdict, Payload, TransactionId } from "../../core/types.ts";
import { orAborted } from "../concurrency.ts";
import { PayloadLoader } from "../log/payload-loader.ts";
import { describeTable, stampAt, writeAt } from "../installing/payload-writes.ts";
import { bringAbout } from "../committing/request-settler.ts";
import type { ShardSession } from "../shard-session.ts";
import { itemIdentity } from "../attempts/write-buffer.ts";
import type { FenceJudge, SettleOptions } from "./mixed-items.ts";

export class TailFenceJudge implements FenceJudge {
  readonly #ports: ClientPorts;
  readonly #session: ShardSession;
  readonly #loader: PayloadLoader;

  constructor(ports: ClientPorts, session: ShardSession) {
    this.#ports = ports;
    this.#session = session;
    this.#loader = new PayloadLoader(ports, session);
  }

  async fateOf(met: MetFence, at: ItemAddress, options: CallOptions = {}): Promise<FenceFate> {
    const { follower } = this.#session;
    await orAborted(follower.refresh(), options.signal);
    if (follower.tail.open.get(met.fence) !== undefined) return { kind: "open" };
    const found = await this.#commitOf(met.fence, at, options);
    if (found === undefined) return { kind: "over" };
    const { commit, payload } = found;
    return {
      kind: "committed",
      stamp: stampAt({ verdict: commit.verdict, payload }, commit.write),
    };
  }

  async settle(met: MetFence, at: ItemAddress, options: SettleOptions = {}): Promise<void> {
    const { times = 1, ...call } = options;
    const signal = call.signal ?? new AbortController().signal;
    await bringAbout(this.#ports, this.#session, { id: met.fence, met: times, signal, call });
    const found = await this.#commitOf(met.fence, at, call);
    if (found !== undefined) await this.#session.finish([found.commit], signal);
  }

  /** The write of that very item by a commit that the tail knows. */
  async #commitOf(
    id: TransactionId,
    at: ItemAddress,
    options: CallOptions,
  ): Promise<{ readonly commit: TailCommit; readonly payload: Payload } | undefined> {
    const verdict = this.#session.follower.tail.decision(id);
    if (verdict?.kind !== "committed") return undefined;
    const { key } = this.#session.hashes.item(at.table, at.key);
    const candidates = [...verdict.writes.keys()].filter((i) => verdict.writes[i]?.key === key);
    if (candidates.length === 0) return undefined;
    const payload = await this.#payloadOf(verdict, options);
    if (payload === undefined) return undefined;
    const write = candidates.find((index) => writes(payload, index, at));
    if (write === undefined) return undefined;
    return { commit: { timestamp: verdict.timestamp, verdict, write }, payload };
  }

  /** Undefined: damaged, or gone: nobody will ever install it. */
  async #payloadOf(verdict: CommittedVerdict, options: CallOptions): Promise<Payload | undefined> {
    try {
      return await this.#loader.load(verdict, options);
    } catch (error) {
      if (error instanceof CorruptDataError) return undefined;
      throw error;
    }
  }
}

/** A hash may stand for several items: the payload says whose write it is. */
function writes(payload: Payload, index: number, { table, key }: ItemAddress): boolean {
  const { write, table: written } = writeAt(payload, index);
  if (written.name !== table.name) return false;
  const of = describeTable(written, write.key);
  return itemIdentity(of, write.key) === itemIdentity(of, key);
}
