/**
 * Processes and an oracle at one log, in virtual time: what the policy makes of contention. Events
 * are the moments at which calls arrive or are answered; latencies are drawn from a seed.
 */
import type { LogPosition, MakerNumber } from "../../../core/types.ts";
import { CommitPolicy } from "../../../engine/express/commit-policy.ts";
import type { CommitPreference } from "../../../engine/types.ts";

export type Contention = {
  readonly processes: number;
  /** Pause of each process between two commits. */
  readonly thinkMs: (nowMs: number) => number;
  readonly untilMs: number;
  /** Of the processes, how many have no right to append. */
  readonly without?: number;
  /** Of those that have it. Default `auto`. */
  readonly mode?: CommitPreference;
  readonly seed?: number;
};

export type Outcome = {
  /** By process: commits by either way, and the longest that one took. */
  readonly commits: readonly number[];
  readonly longestMs: readonly number[];
  readonly wins: number;
  readonly refused: number;
  readonly oracleBlocks: number;
  readonly oracleRefused: number;
  /** Shares of commits by the stream, by second. */
  readonly streamShare: readonly number[];
};

/** With its decisions of each process. */
type Block = {
  readonly maker: number | undefined;
  readonly decisions: ReadonlyMap<number, number>;
};

/** There and back, without the oracle's put; a read of the log; a put. */
const streamMs = 50;
const readMs = 3;
const [putMsMin, putMsMax] = [5, 11];

export function contend(scene: Contention): Outcome {
  const { processes, untilMs, without = 0 } = scene;
  const random = mulberry(scene.seed ?? 1);
  const queue: { readonly atMs: number; readonly run: () => void }[] = [];
  let nowMs = 0;
  const after = (delayMs: number, run: () => void): void => {
    queue.push({ atMs: nowMs + delayMs, run });
  };
  const log: Block[] = [];
  const commits = Array.from({ length: processes }, () => 0);
  const longestMs = Array.from({ length: processes }, () => 0);
  const counts = { wins: 0, refused: 0, oracleBlocks: 0, oracleRefused: 0 };
  const seconds = Array.from({ length: Math.ceil(untilMs / 1_000) }, () => ({ all: 0, stream: 0 }));

  /** A conditional put: arrives half-way, is answered at the end. */
  const put = (
    position: number,
    block: Block,
    answered: (isMine: boolean, tookMs: number) => void,
  ): void => {
    const tookMs = putMsMin + random() * (putMsMax - putMsMin);
    after(tookMs / 2, () => {
      const isMine = log.length === position;
      if (isMine) log.push(block);
      after(tookMs / 2, () => answered(isMine, tookMs));
    });
  };

  const waiting: { process: number; done: () => void }[] = [];
  let isOracleBusy = false;
  const oracle = (position: number): void => {
    if (waiting.length === 0) {
      isOracleBusy = false;
      return;
    }
    isOracleBusy = true;
    const batch = [...waiting];
    const decisions = new Map<number, number>();
    for (const { process } of batch) decisions.set(process, (decisions.get(process) ?? 0) + 1);
    put(position, { maker: undefined, decisions }, (isMine) => {
      if (!isMine) {
        counts.oracleRefused += 1;
        oracle(log.length);
        return;
      }
      counts.oracleBlocks += 1;
      waiting.splice(0, batch.length);
      for (const { done } of batch) after(streamMs / 2, done);
      oracle(log.length);
    });
  };

  for (let process = 0; process < processes; process++) {
    const policy = new CommitPolicy(process < without ? "auto" : (scene.mode ?? "auto"));
    let folded = 0;
    const fold = (): void => {
      for (; folded < log.length; folded++) {
        const block = log[folded];
        if (block === undefined || block.maker === process) continue;
        let decisions = 0;
        for (const [of, n] of block.decisions) if (of !== process) decisions += n;
        if (block.maker === undefined && decisions === 0) continue;
        const maker = block.maker as MakerNumber | undefined;
        policy.saw({ position: folded as LogPosition, atMs: nowMs, maker, decisions, units: 1 });
      }
    };
    /** Until the log goes on, or time is over. */
    const lookFor = (forMs: number, everyMs: number, done: () => void): void => {
      const from = folded;
      let isOver = false;
      const end = (): void => {
        if (isOver) return;
        isOver = true;
        fold();
        done();
      };
      for (let beganMs = 0; beganMs < forMs; beganMs += everyMs) {
        after(beganMs + readMs / 2, () => {
          if (log.length > from) after(readMs / 2, end);
        });
      }
      after(forMs, end);
    };
    const commit = (sinceMs: number): void => {
      fold();
      const way = process < without ? "stream" : policy.way(nowMs);
      const done = (): void => {
        policy.ended({ nowMs, isConflict: false });
        commits[process] = (commits[process] ?? 0) + 1;
        longestMs[process] = Math.max(longestMs[process] ?? 0, nowMs - sinceMs);
        const second = seconds[Math.floor(nowMs / 1_000)];
        if (second !== undefined) {
          second.all += 1;
          second.stream += way === "stream" ? 1 : 0;
        }
        begin();
      };
      if (way === "stream") {
        after((streamMs / 2) * (0.8 + 0.4 * random()), () => {
          waiting.push({ process, done });
          if (!isOracleBusy) oracle(log.length);
        });
        return;
      }
      const wait = policy.wait(nowMs, random());
      if (wait !== undefined) {
        // After it a look at the log, and the way is asked for again.
        const { forMs, lookEveryMs } = wait;
        if (lookEveryMs === undefined) after(forMs + readMs, () => commit(sinceMs));
        else lookFor(forMs, lookEveryMs, () => commit(sinceMs));
        return;
      }
      after(0, () => {
        const position = folded;
        put(position, { maker: process, decisions: new Map([[process, 1]]) }, (isMine, tookMs) => {
          if (isMine) {
            counts.wins += 1;
            const at = { position: position as LogPosition, decisions: 1 };
            policy.won({ nowMs, tookMs, units: 1, ...at });
            fold();
            done();
            return;
          }
          counts.refused += 1;
          fold();
          policy.lost({ nowMs, tookMs, units: 1 });
          commit(sinceMs);
        });
      });
    };
    const begin = (): void => {
      after(scene.thinkMs(nowMs) * (0.5 + random()), () => {
        // A transaction's first read takes the tail to the log's end.
        after(readMs, () => commit(nowMs));
      });
    };
    begin();
  }

  while (queue.length > 0) {
    let first = 0;
    for (let i = 1; i < queue.length; i++) {
      if ((queue[i]?.atMs ?? 0) < (queue[first]?.atMs ?? 0)) first = i;
    }
    const [event] = queue.splice(first, 1);
    if (event === undefined || event.atMs > untilMs) break;
    nowMs = event.atMs;
    event.run();
  }
  return {
    commits,
    longestMs,
    ...counts,
    streamShare: seconds.map(({ all, stream }) => (all === 0 ? 0 : stream / all)),
  };
}

/** Uniform in [0, 1). */
function mulberry(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
