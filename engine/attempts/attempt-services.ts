/** What an attempt of a transaction needs of its process. */
import type { ClientPorts } from "../../core/ports.ts";
import type { Call } from "../call.ts";
import type { Sessions } from "../sessions.ts";
import type { TableRegistry } from "../table-registry.ts";
import type { CallEvent } from "../types.ts";

export type AttemptServices = {
  readonly ports: ClientPorts;
  readonly sessions: Sessions;
  readonly registry: TableRegistry;
  readonly call: Call;
  /** See CommitOptions. */
  readonly freshMs: number;
  readonly emit: ((event: CallEvent) => void) | undefined;
  /** Work that outlives the call; `close` waits for it. */
  readonly background: Set<Promise<void>>;
};
