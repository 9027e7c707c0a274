/** What a commit needs of its process, from its request to its installs. */
import type { ClientPorts } from "../../core/ports.ts";
import type { ShardSession } from "../shard-session.ts";
import type { CallEvent } from "../types.ts";

export type CommitServices = {
  readonly ports: ClientPorts;
  readonly session: ShardSession;
  readonly freshMs: number;
  readonly emit: ((event: CallEvent) => void) | undefined;
  /** Work that outlives the call; `close` waits for it. */
  readonly background: Set<Promise<void>>;
};
