/**
 * Express commit, as one process has it for its shard (docs/adr/0013-express-commit.md): what a
 * client loads that may append blocks of its own.
 */
import type { CommitLog, ClientPorts } from "../../core/ports.ts";
import type { MakerNumber } from "../../core/types.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import type { ExpressWay } from "../express-way.ts";
import type { ShardSession } from "../shard-session.ts";
import type { CommitPreference } from "../types.ts";
import { BlockAppender } from "./block-appender.ts";
import { CommitPolicy } from "./commit-policy.ts";
import { StoreClock } from "./store-clock.ts";

export type ExpressParts = {
  readonly ports: Pick<ClientPorts, "clock" | "random" | "watchDates">;
  readonly append: CommitLog["append"];
  readonly session: ShardSession;
  readonly mode: CommitPreference;
  readonly onDenied: (cause: unknown) => void;
};

/** The store's answers are dated from when it resolves on: whoever knows no time goes by stream. */
export async function createExpress({
  session,
  mode,
  ...parts
}: ExpressParts): Promise<ExpressWay> {
  const { ports } = parts;
  const clock = new StoreClock();
  await ports.watchDates?.((answer) => {
    clock.observe(answer);
  });
  const { shard, hashes, follower, reports } = session;
  return new BlockAppender({
    ...{ ...parts, shard, follower, reports },
    policy: new CommitPolicy(mode),
    nowMicros: () => {
      const nowMs = clock.nowMs(ports.clock.monotonicMs());
      return nowMs === undefined ? undefined : Math.floor(nowMs * 1_000);
    },
    encode: (block) => encodeLogBlock(block, hashes),
    number: new DataView(ports.random.bytes(4).buffer).getUint32(0) as MakerNumber,
  });
}
