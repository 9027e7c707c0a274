/**
 * Express commit, as one process has it for its shard (docs/adr/0013-express-commit.md): what a
 * client loads that may append blocks of its own.
 */
import * as limits from "../../core/limits.ts";
import type { ClientPorts, Clock, CommitLog } from "../../core/ports.ts";
import type { Answer, MakerNumber } from "../../core/types.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import { follow, ignore, noLongerNeeded } from "../concurrency.ts";
import { WakefulClock } from "../elapsed.ts";
import { StoreClock } from "../log/store-clock.ts";
import type { ExpressWay, ExpressWish } from "../express-way.ts";
import type { ShardSession } from "../shard-session.ts";
import type { TableRegistry } from "../table-registry.ts";
import type { CommitPreference } from "../types.ts";
import { BlockAppender } from "./block-appender.ts";
import { fitsBlock } from "./block-plan.ts";
import { BlockValues } from "./block-values.ts";
import { CommitPolicy } from "./commit-policy.ts";
import { LoneWriter } from "./lone-writer.ts";
import { RegistryGuard } from "./registry-guard.ts";

export { withoutStream } from "./without-stream.ts";

export type ExpressParts = {
  readonly ports: Pick<ClientPorts, "clock" | "random" | "log" | "watchDates">;
  readonly append: CommitLog["append"];
  readonly session: ShardSession;
  readonly registry: TableRegistry;
  readonly mode: CommitPreference;
  readonly onDenied: (cause: unknown) => void;
};

/** The store's answers are dated from when it resolves on: whoever knows no time goes by stream. */
export async function createExpress({
  session,
  registry,
  mode,
  ...parts
}: ExpressParts): Promise<ExpressWay> {
  const { ports } = parts;
  const clock = new StoreClock();
  await ports.watchDates?.((answer) => {
    clock.observe(answer);
  });
  const { shard, hashes, follower, reports } = session;
  const policy = new CommitPolicy(mode);
  const tables = new RegistryGuard(registry, ports.clock);
  // 0 is provisioning's (core/block-order.ts).
  const number = Math.max(
    1,
    new DataView(ports.random.bytes(4).buffer).getUint32(0),
  ) as MakerNumber;
  const time = new WakefulClock(ports.clock);
  const loneWriter = new LoneWriter(time.nowMs());
  const appender = new BlockAppender({
    ...{ ...parts, shard, shardNumber: session.number, follower, reports, tables, policy },
    hasStream: () => !session.isStreamless,
    nowMicros: () => {
      const nowMs = clock.nowMs(ports.clock.monotonicMs());
      return nowMs === undefined ? undefined : Math.floor(nowMs * 1_000);
    },
    encode: (block) => encodeLogBlock(block, hashes),
    number,
  });
  const values = new BlockValues();
  return {
    get denied() {
      return appender.denied;
    },
    get isReady() {
      return appender.mayCertify();
    },
    get isAlone() {
      if (!appender.mayCertify()) return false;
      return loneWriter.isLikely({ nowMs: time.nowMs(), ageMs: follower.ageMs });
    },
    board: async (signal) => {
      if (appender.isReady) await tables.refreshed();
      return appender.board(signal);
    },
    refuseChanged: (written) => {
      tables.refuseChanged(written);
    },
    settle: (wish) => {
      // Where there is a stream, its oracle says what becomes of ids that are asked for; but what
      // is open, the log has already, and nothing of it is on its way.
      const isOpen = follower.tail.open.get(wish.request.id) !== undefined;
      const takesProbes = session.isStreamless || isOpen;
      return settle(appender, wish, { clock: ports.clock, takesProbes });
    },
    takes: (payload, writes) => fitsBlock({ kind: "commit", checks: [], payload, writes }),
    written: (commit, key) => values.find(commit, key),
    tried: (end) => {
      if (end !== "neither") appender.ended({ isConflict: end === "conflict" });
      loneWriter.ended({ hasCommitted: end === "commit" });
    },
    saw: (block, as) => {
      if (block.maker?.number !== number) loneWriter.sawOther(time.nowMs());
      appender.saw(block, as);
    },
  };
}

/**
 * Whoever has waited as long as one waits for the stream goes by the stream. Not so what is in a
 * block with what it has read from: what becomes of that one by another way, or of its caller, says
 * nothing of the block, which may yet commit them both.
 *
 *   A, B   in block 7 ──?── A's caller gives up ── B: "A was not committed", runs again?
 *   log                                             (late block 7) ───────────────▶ A, B committed
 */
async function settle(
  appender: BlockAppender,
  wish: ExpressWish,
  options: { readonly clock: Clock; readonly takesProbes: boolean },
): Promise<Answer | undefined> {
  const { search, recheck, recheckTables, call, writes, onTrouble } = wish;
  const { id, kind, checks, payload, vote, parts, whole } = wish.request;
  if (kind === "abort" && !options.takesProbes) return undefined;
  const waiting = new AbortController();
  const unfollow = follow(waiting, wish.signal);
  const { signal } = waiting;
  let isOver = false;
  const announce = announcer(wish);
  const readFrom = () => wish.predecessors?.undecidedReads() ?? [];
  let isBound = false;
  const onWay = (mayCome: boolean): void => {
    // What becomes of the block once it was given up says nothing of other copies.
    if (isOver) return;
    isBound = mayCome && readFrom().length > 0;
    wish.onWay(mayCome);
    if (mayCome) announce();
  };
  try {
    const committed = appender.commit({
      ...{ id, kind, checks, call, signal, onWay, onTrouble, readFrom },
      ...(vote === undefined ? {} : { vote }),
      ...(parts === undefined ? {} : { parts }),
      ...(whole === undefined ? {} : { whole }),
      recheck: () => {
        recheckTables?.();
        recheck();
      },
      writes: writes?.() ?? [],
      payload,
      look: () => search.look(),
    });
    const patience = options.clock
      .sleep(limits.silenceMsMax, signal)
      .then(() => (isBound ? committed : undefined));
    const answer = await Promise.race([committed, patience]);
    return answer?.kind === "decided" ? answer.decision : undefined;
  } finally {
    isOver = true;
    unfollow();
    waiting.abort(noLongerNeeded);
  }
}

/**
 * Says that the request was sent, in the asynchronous context of its own transaction: the appender
 * runs in that of whichever began it, and listeners may tell their requests apart by that. It
 * takes a microtask, for which the appender waits.
 */
function announcer({ request, resend, onSent }: ExpressWish): () => void {
  let isAgain = resend;
  let fire = ignore;
  const arm = (): void => {
    const fired = new Promise<void>((resolve) => {
      fire = resolve;
    });
    void fired.then(() => {
      arm();
      onSent(request.id, { resend: isAgain, via: "express" });
      isAgain = true;
    });
  };
  arm();
  return () => {
    fire();
  };
}
