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

export type ExpressParts = {
  readonly ports: Pick<ClientPorts, "clock" | "random">;
  readonly append: CommitLog["append"];
  readonly session: ShardSession;
  readonly mode: CommitPreference;
  readonly onDenied: (cause: unknown) => void;
};

export function createExpress({ session, mode, ...parts }: ExpressParts): ExpressWay {
  const { ports } = parts;
  const { shard, hashes, follower, reports } = session;
  return new BlockAppender({
    ...{ ...parts, shard, follower, reports },
    policy: new CommitPolicy(mode),
    nowMicros: () => ports.clock.nowMs() * 1_000,
    encode: (block) => encodeLogBlock(block, hashes),
    number: new DataView(ports.random.bytes(4).buffer).getUint32(0) as MakerNumber,
  });
}
