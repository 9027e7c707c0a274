/**
 * A process of the test cloud whose calls can be held up: the next put into the stream or the log,
 * while others of the process pass it; all its installs; and its reads of the log.
 */
import type { ClientPorts } from "../../core/ports.ts";
import { createClientEngine } from "../../engine/client-engine.ts";
import type { ClientEngine, EngineEvent, EngineTransaction } from "../../engine/types.ts";
import type { EngineOptions } from "../../engine/engine-core.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud, testTable } from "../../testing/index.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });

export class HeldProcess {
  readonly cloud: TestCloud;
  readonly engine: ClientEngine;
  readonly events: EngineEvent[] = [];
  readonly items = items;
  /** Resolves when a put is being held. */
  heldPut: Promise<void> = Promise.resolve();
  releasePut: () => void = () => undefined;
  /** How long a read of the log takes longer. */
  slowLogMs = 0;
  #hold: (() => Promise<void>) | undefined;
  #installs: Promise<void> = Promise.resolve();

  constructor(cloud: TestCloud, options: EngineOptions) {
    this.cloud = cloud;
    const process = cloud.world.startProcess("app", { exact: true });
    const ports = this.#held(cloud.deployment.clientPortsOf(process));
    this.engine = createClientEngine(ports, {
      commit: "stream",
      ...options,
      onEvent: (event) => {
        this.events.push(event);
      },
    });
  }

  async #heldIfNext(): Promise<void> {
    const hold = this.#hold;
    this.#hold = undefined;
    await hold?.();
  }

  #held(ports: ClientPorts): ClientPorts {
    const { append } = ports.log;
    const log: ClientPorts["log"] = {
      ...ports.log,
      readAfter: async (...request) => {
        if (this.slowLogMs > 0) await this.cloud.clock.sleep(this.slowLogMs);
        return ports.log.readAfter(...request);
      },
    };
    if (append !== undefined) {
      log.append = async (...request) => {
        await this.#heldIfNext();
        return append(...request);
      };
    }
    return {
      ...ports,
      log,
      stream: {
        ...ports.stream,
        put: async (shard, records, options) => {
          await this.#heldIfNext();
          return ports.stream.put(shard, records, options);
        },
      },
      items: {
        ...ports.items,
        install: async (install, options) => {
          await this.#installs;
          return ports.items.install(install, options);
        },
      },
    };
  }

  holdNextPut(): void {
    const released = new Promise<void>((resolve) => {
      this.releasePut = resolve;
    });
    this.heldPut = new Promise((isHeld) => {
      this.#hold = () => {
        isHeld();
        return released;
      };
    });
  }

  /** @returns what lets them go. */
  holdInstalls(): () => void {
    let release: () => void = () => undefined;
    this.#installs = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  async numberOf(tx: Pick<EngineTransaction, "get">, id: string): Promise<number> {
    const item = await tx.get("items", { id: { S: id } });
    const n = item?.["n"];
    return n !== undefined && "N" in n ? Number(n.N) : 0;
  }

  /** Adds 1 to the item. */
  increment(
    id: string,
    options: Parameters<ClientEngine["transact"]>[0] = {},
  ): ReturnType<ClientEngine["transact"]> {
    return this.engine.transact(options, async (tx) => {
      const n = (await this.numberOf(tx, id)) + 1;
      tx.put("items", { id: { S: id }, n: { N: n.toString() } });
      return n;
    });
  }

  rows(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.cloud.rows(items).map(({ id, n }) => [id, n]));
  }
}

export async function heldProcess(options: EngineOptions = {}): Promise<HeldProcess> {
  const cloud = await createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
  cloud.seed(
    items,
    ["a", "b", "z"].map((id) => ({ id, n: 0 })),
  );
  return new HeldProcess(cloud, options);
}
