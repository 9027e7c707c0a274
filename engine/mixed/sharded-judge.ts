/**
 * What becomes of fences, whichever shard their items lie in: the log of an item's shard says it. A
 * page of a scan has rows of all of them, and a shard may be split or joined between two looks.
 */
import type { FenceFate, MetFence } from "../../core/fence.ts";
import type { ItemAddress } from "../../core/mixed-items-port.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { ShardNumber } from "../../core/types.ts";
import { UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { waitBackoff } from "../backoff.ts";
import { orAborted } from "../concurrency.ts";
import type { Sessions } from "../sessions.ts";
import { TailFenceJudge } from "./fence-judge.ts";
import type { FenceJudge, SettleOptions } from "./mixed-items.ts";

const takenBackoff = { baseMs: 10, capMs: 200 };

export class ShardedFenceJudge implements FenceJudge {
  readonly #ports: ClientPorts;
  readonly #sessions: Sessions;
  readonly #judges = new Map<ShardNumber, TailFenceJudge>();

  constructor(ports: ClientPorts, sessions: Sessions) {
    this.#ports = ports;
    this.#sessions = sessions;
  }

  async fateOf(met: MetFence, at: ItemAddress, options: CallOptions = {}): Promise<FenceFate> {
    return this.#asked(at, options, (judge) => judge.fateOf(met, at, options));
  }

  async settle(met: MetFence, at: ItemAddress, options: SettleOptions = {}): Promise<void> {
    await this.#asked(at, options, (judge) => judge.settle(met, at, options));
  }

  /** Of the shard in which the item lies before and after: the log may say that it has moved. */
  async #asked<T>(
    at: ItemAddress,
    { signal }: CallOptions,
    ask: (judge: TailFenceJudge) => Promise<T>,
  ): Promise<T> {
    const sessions = this.#sessions;
    const { partition } = sessions.hashes.item(at.table, at.key);
    for (let attempt = 0; attempt < limits.readTriesMax; attempt += 1) {
      const { number } = sessions.at(partition);
      const { session } = await sessions.of(number);
      if (!session.follower.started) await orAborted(session.follower.refresh(), signal);
      const answer = await ask(this.#judgeOf(number, session));
      if (sessions.isOld) await sessions.learn();
      if (session.follower.tail.standing === "ended" && sessions.at(partition).number === number) {
        // Another log is about to take its range.
        await waitBackoff(this.#ports, { backoff: takenBackoff, attempt, signal });
        await sessions.readMap();
        continue;
      }
      if (sessions.at(partition).number === number) return answer;
    }
    throw new UnavailableError(`the shard of an item of table "${at.table.name}" is being joined`);
  }

  #judgeOf(
    number: ShardNumber,
    session: ConstructorParameters<typeof TailFenceJudge>[1],
  ): TailFenceJudge {
    const known = this.#judges.get(number);
    if (known !== undefined) return known;
    const judge = new TailFenceJudge(this.#ports, session);
    this.#judges.set(number, judge);
    return judge;
  }
}
