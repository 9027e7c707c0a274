/**
 * Searches of one process for decisions on ids, below its tail. Whoever makes up an id of an old
 * timestamp has the log searched from there on. So pages are read one at a time, with a pause, and
 * a search that was given up goes on where it stopped.
 */
import { UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import { isDecision } from "../../core/decision.ts";
import type {
  Answer,
  Decision,
  LogBlock,
  LogPosition,
  ShardId,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { Semaphore } from "../concurrency.ts";
import { blocksAfter, positionAtOrBelow } from "./log-search.ts";

/** `gap`: the tail does not reach down to where the search stands. */
export type Found = Answer | "gap" | undefined;

/** What is known of an id. It stays true, whoever found it out. */
export type SearchState = {
  readonly id: TransactionId;
  /** No decision on the id lies at or below it. */
  undecidedTo: Timestamp;
  /** The block that ends there, once it is known. */
  position?: LogPosition;
  found?: Decision | undefined;
};

/** Where a tail begins. */
export type TailBegin = { readonly floor: Timestamp; readonly floorPosition: LogPosition };

type Search = {
  /** Where the tail begins, if it does not reach down to where the search stands. */
  readonly gap: () => TailBegin | undefined;
  readonly pagesMax: number;
  readonly call: CallOptions;
};

export class LogSearches {
  readonly #ports: Pick<ClientPorts, "log" | "clock">;
  readonly #log: { readonly shard: ShardId; readonly hashes: KeyHashes };
  readonly #turns = new Semaphore(1);
  #nextMs = Number.NEGATIVE_INFINITY;
  /** Of ids that somebody asked about; the most recent one last. */
  readonly #kept = new Map<TransactionId, SearchState>();

  constructor(
    ports: Pick<ClientPorts, "log" | "clock">,
    log: { readonly shard: ShardId; readonly hashes: KeyHashes },
  ) {
    this.#ports = ports;
    this.#log = log;
  }

  stateOf(id: TransactionId, undecidedTo: Timestamp): SearchState {
    const state = this.#kept.get(id) ?? { id, undecidedTo };
    this.#kept.delete(id);
    this.#kept.set(id, state);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= limits.searchesKeptMax) break;
      this.#kept.delete(oldest);
    }
    return state;
  }

  /**
   * Reads up to where the tail begins.
   * @throws SnapshotTooOldError when the log's retention has passed.
   * @throws UnavailableError when there is more than so many pages of it.
   */
  async fill(state: SearchState, search: Search): Promise<void> {
    for (let pages = 0; search.gap() !== undefined; pages += 1) {
      if (pages >= search.pagesMax) {
        throw new UnavailableError(
          `the search for transaction ${state.id} has reached the limit outcomePagesMax of ` +
            `${search.pagesMax} pages; ask again, and it goes on from there`,
        );
      }
      await this.#readOn(state, search);
    }
  }

  /** Reads one page, in its turn. Whoever searches for the same id may have been there before. */
  #readOn(state: SearchState, { gap, call }: Search): Promise<void> {
    const { clock } = this.#ports;
    return this.#turns.run(async () => {
      call.signal?.throwIfAborted();
      const pauseMs = this.#nextMs - clock.monotonicMs();
      if (pauseMs > 0) await clock.sleep(pauseMs, call.signal);
      const begin = gap();
      if (begin === undefined) return;
      this.#nextMs = clock.monotonicMs() + limits.searchPageMsMin;
      await this.#readPage(state, begin, call);
    });
  }

  async #readPage(state: SearchState, begin: TailBegin, call: CallOptions): Promise<void> {
    const { shard, hashes } = this.#log;
    const range = { above: state.undecidedTo, through: begin.floorPosition, hashes, call };
    state.position ??= await positionAtOrBelow(this.#ports.log, shard, range);
    const after = state.position;
    if (after >= begin.floorPosition) {
      state.undecidedTo = begin.floor;
      return;
    }
    for (const block of await blocksAfter(this.#ports.log, shard, { ...range, after })) {
      state.found ??= decisionOn(state.id, block);
      state.undecidedTo = block.throughTimestamp;
      state.position = block.position;
    }
  }
}

function decisionOn(id: TransactionId, { verdicts }: LogBlock): Decision | undefined {
  return verdicts.filter(isDecision).find((each) => each.id === id);
}
