/** Transactions over mixed tables, as one process has them for its shard. Loaded with the first. */
import type { ItemAddress } from "../../core/mixed-items-port.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { CommittedVerdict, Timestamp } from "../../core/types.ts";
import { localTransactionId } from "../../schemas/transaction-id.ts";
import { installCommitted } from "../installing/install-committed.ts";
import type {
  AttemptView,
  MixedAttempt,
  MixedCommit,
  MixedServices,
  MixedWay,
} from "../mixed-way.ts";
import type { Sessions } from "../sessions.ts";
import type { ShardSession } from "../shard-session.ts";
import type { WriteBuffer } from "../attempts/write-buffer.ts";
import type { CommitWay } from "../types.ts";
import { certifyByVote } from "./certify-by-vote.ts";
import { clearFence } from "./clear-fence.ts";
import { commitLocally, localWriteOf } from "./commit-locally.ts";
import { MixedItems } from "./mixed-items.ts";
import { MixedReader } from "./mixed-reader.ts";
import { NativeSide } from "./native-side.ts";
import { ShardedFenceJudge } from "./sharded-judge.ts";

export class MixedTransactions implements MixedWay {
  readonly #items: MixedItems;
  readonly #ports: ClientPorts;
  readonly #session: ShardSession;
  readonly #judge: ShardedFenceJudge;
  readonly #sessions: Sessions;
  readonly #readers = new WeakMap<AttemptView, MixedReader>();

  constructor(ports: ClientPorts, session: ShardSession, sessions: Sessions) {
    this.#ports = ports;
    this.#session = session;
    this.#sessions = sessions;
    this.#judge = new ShardedFenceJudge(ports, sessions);
    this.#items = new MixedItems(ports, this.#judge);
  }

  reads(view: AttemptView): MixedReader {
    const known = this.#readers.get(view);
    if (known !== undefined) return known;
    const reader = new MixedReader(
      { items: this.#items, ports: this.#ports, session: this.#session },
      view,
    );
    this.#readers.set(view, reader);
    return reader;
  }

  checks(view: AttemptView, writes: WriteBuffer): NativeSide {
    const { set } = this.reads(view);
    return new NativeSide({ items: this.#items, ports: this.#ports, set }, writes);
  }

  clearFence(at: ItemAddress, options?: CallOptions): Promise<boolean> {
    return clearFence({ mixed: this.#ports.mixed, judge: this.#judge }, at, options);
  }

  async commit(services: MixedServices, attempt: MixedAttempt): Promise<MixedCommit> {
    const { view, writes } = attempt;
    const reader = this.reads(view);
    const { call, emit } = services;
    if (reader.remembered !== undefined) await reader.recall(call.options);
    const { set } = reader;
    // What it has read of undecided commits joins its reads only now: then none commits locally.
    await view.settleChained();
    view.assertOpen();
    const local = localWriteOf({ writes, view }, set);
    if (local !== undefined) {
      view.seal();
      const transactionId = localTransactionId(this.#ports.random);
      const how = { id: transactionId, call: call.options };
      if (await commitLocally({ items: this.#items, ports: this.#ports }, local, how)) {
        return { kind: "local", transactionId };
      }
      // Goes on sealed: it has read nothing in the log, so there is no end of that to look at.
    } else {
      await view.ready();
      // A read that its body did not wait for may have chained meanwhile.
      await view.settleChained();
      view.sealForCommit();
    }
    let via: CommitWay = "stream";
    const { id, proof } = attempt;
    const native = this.checks(view, writes);
    const certified = await certifyByVote(
      {
        ...{ ports: this.#ports, session: this.#session },
        ...{ freshMs: services.freshMs, call: call.options, signal: call.signal },
        onSent: (transactionId, how) => {
          via = how.via;
          emit?.({ kind: "sent", transactionId, ...how });
        },
        later: (work) => {
          keep(services.background, work);
        },
      },
      {
        ...{ id, proof, writes, native, reads: view.reads, mixed: native.checks },
        overtaken: (tail) => native.overtaken(tail),
        // What was read of mixed tables is as it is now: at an older timestamp it proves nothing.
        isolation: set.size > 0 ? "serializable" : view.isolation,
      },
    );
    const shared = { ports: this.#ports, session: this.#session };
    const own = { proof: attempt.secret, via, consumption: call.consumption };
    const installing = (): Promise<boolean> =>
      installCommitted({ ...services, ...shared }, certified, own);
    const { verdict } = certified;
    const since = view.reads.readTimestamp;
    const isForked = this.#sessions.isForkedSince(this.#session.number, since);
    const installed = isForked
      ? this.#tellHeirs(verdict, since, call).then(installing, () => false)
      : installing();
    return { kind: "logged", verdict, installed };
  }

  /**
   * Of a shard that was split while it waited for its vote, the other log has it open as well: what
   * is met in a table its readers must find decided there. Where that fails replay does it all.
   */
  async #tellHeirs(
    { id }: CommittedVerdict,
    since: Timestamp,
    { signal, options }: MixedServices["call"],
  ): Promise<void> {
    await this.#sessions.forHeirs(this.#session.number, since, async (heir) => {
      const opened = heir.follower.tail.open.get(id);
      if (opened !== undefined) await heir.settlePart(opened.prepared, { signal, call: options });
    });
  }
}

function keep(background: Set<Promise<void>>, work: Promise<void>): void {
  const kept = work.finally(() => {
    background.delete(kept);
  });
  background.add(kept);
}
