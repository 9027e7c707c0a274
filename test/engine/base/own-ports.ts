/**
 * A client of the test cloud whose ports a test changes: what it calls may be refused, or be done
 * and never be answered.
 */
import { StoreError } from "../../../core/errors.ts";
import type { CallOptions, ClientPorts } from "../../../core/ports.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type { ClientEngine, CommitPreference } from "../../../engine/types.ts";
import { ConnectedClient } from "../../../sdk/client.ts";
import type { TestCloud } from "../../../testing/index.ts";

export type OwnClient = { readonly client: ConnectedClient; readonly engine: ClientEngine };

export function clientWith(
  cloud: TestCloud,
  change: (ports: ClientPorts) => ClientPorts,
  commit: CommitPreference = "express",
): OwnClient {
  const process = cloud.world.startProcess("own ports", { exact: true });
  const engine = createClientEngine(change(cloud.deployment.clientPortsOf(process)), { commit });
  const client = new ConnectedClient({
    connect: () => Promise.resolve({ engine, close: () => Promise.resolve() }),
    clock: process.clock,
    marshall: {},
    numbers: "bigint-when-unsafe",
  });
  return { client, engine };
}

export type UnheardClient = OwnClient & {
  /** Its next block is appended, and it never hears of that, nor of the log. */
  silence(): void;
  /** What it appends while it is silent is lost, or under way for long. */
  lose(): void;
  hear(): void;
};

export function unheardClient(cloud: TestCloud): UnheardClient {
  let isSilent = false;
  let isDeaf = false;
  let isLost = false;
  const hearing = new Set<() => void>();
  /** Unanswered, as long as nothing is heard. */
  const unanswered = (options: CallOptions | undefined): Promise<never> =>
    new Promise((_, reject) => {
      const { signal } = options ?? {};
      signal?.addEventListener("abort", () => {
        reject(signal.reason as Error);
      });
      hearing.add(() => {
        reject(new StoreError("unavailable", "the answer was lost"));
      });
    });
  const own = clientWith(cloud, (ports) => {
    const { log } = ports;
    const { append } = log;
    if (append === undefined) throw new Error("it appends blocks of its own");
    return {
      ...ports,
      log: {
        ...log,
        append: async (shard, block, options) => {
          const answer = isLost ? "appended" : await append(shard, block, options);
          isDeaf ||= isSilent && answer === "appended";
          return isDeaf ? unanswered(options) : answer;
        },
        readAfter: (...request) => (isDeaf ? unanswered(request[2]) : log.readAfter(...request)),
        readAt: (...request) => (isDeaf ? unanswered(request[2]) : log.readAt(...request)),
      },
    };
  });
  return {
    ...own,
    silence: () => {
      isSilent = true;
    },
    lose: () => {
      isLost = true;
    },
    hear: () => {
      [isSilent, isDeaf, isLost] = [false, false, false];
      for (const hear of hearing) hear();
      hearing.clear();
    },
  };
}

/** As a role answers that lacks a right. */
export function refusedCall(): Promise<never> {
  const message = "AccessDeniedException: not authorized";
  return Promise.reject(new StoreError("rejected", message, { code: "AccessDeniedException" }));
}
