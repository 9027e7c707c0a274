/** A client of the test cloud that commits express, whose calls are counted and may be held. */
import { StoreError } from "../../../core/errors.ts";
import type { ClientPorts } from "../../../core/ports.ts";
import type { Item } from "../../../core/types.ts";
import { createClientEngine } from "../../../engine/client-engine.ts";
import type { ClientEngine } from "../../../engine/types.ts";
import type { TestCloud } from "../../../testing/index.ts";

export type Calls = { reads: number; looks: number; puts: number };

type Hooks = {
  /** Called before each block is put. */
  readonly beforePut?: (put: number) => Promise<void>;
  /** Puts whose answers are lost, by their numbers. */
  readonly loses?: readonly number[];
  /** Installs of this process never come. */
  readonly neverInstalls?: boolean;
  /** Nor does what it spills. */
  readonly neverSpills?: boolean;
};

/** An engine that commits express, and counts what it asks for. */
export function startCounting(
  cloud: TestCloud,
  name: string,
  hooks: Hooks = {},
): ClientEngine & { calls: Calls } {
  const calls: Calls = { reads: 0, looks: 0, puts: 0 };
  const process = cloud.world.startProcess(name, { exact: true });
  const ports: ClientPorts = cloud.deployment.clientPortsOf(process);
  const { items, log } = ports;
  const engine = createClientEngine(
    {
      ...ports,
      items: {
        ...items,
        get: (...args) => {
          calls.reads += 1;
          return items.get(...args);
        },
        batchGet: (keys, options) => {
          calls.reads += keys.length;
          return items.batchGet(keys, options);
        },
        install: (...args) =>
          hooks.neverInstalls === true ? new Promise(() => undefined) : items.install(...args),
      },
      log: {
        ...log,
        readAfter: (...args) => {
          calls.looks += 1;
          return log.readAfter(...args);
        },
        spill: (...args) =>
          hooks.neverSpills === true ? new Promise(() => undefined) : log.spill(...args),
        append: async (...args) => {
          calls.puts += 1;
          const put = calls.puts;
          await hooks.beforePut?.(put);
          if (log.append === undefined) throw new Error("this cloud has no append");
          const answer = await log.append(...args);
          if (hooks.loses?.includes(put) === true) throw new StoreError("unavailable", "lost");
          return answer;
        },
      },
    },
    { commit: "express" },
  );
  return Object.assign(engine, { calls });
}

export const keyOf = (id: string): Item => ({ id: { S: id } });

export function numberIn(item: Item | undefined): number {
  const { n } = item ?? {};
  return n !== undefined && "N" in n ? Number(n.N) : 0;
}
