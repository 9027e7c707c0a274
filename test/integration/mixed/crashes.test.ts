/**
 * Clients that stop for good between two steps of a transaction over a mixed table, on real stores:
 * whoever comes next goes on within a bounded time, native writers at once
 * (docs/adr/0014-native-operations.md, Readers, writers, helpers).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fenceOf } from "../../../core/item-identity.ts";
import type { MixedItemStore } from "../../../core/mixed-items-port.ts";
import * as limits from "../../../core/limits.ts";
import type { Clock } from "../../../core/ports.ts";
import type { Item, TableDescription } from "../../../core/types.ts";
import { createEngine } from "../../../engine/engine.ts";
import type { Engine, EngineEvent } from "../../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../../harness/local-deployment.ts";
import { logOf } from "../../harness/voters.ts";
import { failureOf, gate, increment, key, number, numberOf, readOne } from "../support.ts";
import { Native } from "./native.ts";

let deployment: LocalDeployment;
let native: Native;
let rows: TableDescription;
let plain: TableDescription;

beforeAll(async () => {
  deployment = await startLocalDeployment({ stopped: ["replay"] });
  const { stores } = deployment;
  rows = await stores.createTable("rows", { access: "mixed" });
  plain = await stores.createTable("plain");
  native = new Native(stores);
});
afterAll(async () => {
  native.close();
  await deployment.stop();
});

const never = new Promise<never>(() => undefined);

/** Where a client stops: in front of its fence, behind it, or in front of its installs. */
type Stop = "before the fence" | "behind the fence" | "before the install";

/** What it inserts besides. */
function besides({ pk }: Item): Item {
  return key(`besides ${JSON.stringify(pk)}`);
}

/** A client that stops there for good, and a promise that resolves when it has. */
function stopping(
  at: Stop,
  commit: "stream" | "express",
): { readonly engine: Engine; readonly stopped: Promise<void> } {
  const ports = deployment.stores.openPorts();
  const { mixed } = ports;
  const { opened: stopped, open: stop } = gate();
  const halt = (): Promise<never> => {
    stop();
    return never;
  };
  const dying: MixedItemStore = {
    ...mixed,
    fence: async (request, options) => {
      if (at === "before the fence") return halt();
      const answer = await mixed.fence(request, options);
      return at === "behind the fence" ? halt() : answer;
    },
    install: (request, options) =>
      at === "before the install" ? halt() : mixed.install(request, options),
  };
  // Not closed with the deployment: it would wait for what never ends.
  return { engine: createEngine({ ...ports, mixed: dying }, { commit }), stopped };
}

test.each(["stream", "express"] as const)(
  "by %s: who is given up before the vote is voted down at once",
  async (commit) => {
    const of = key(`${commit} given up`);
    await native.put(rows, { ...of, n: number(1) });
    const ports = deployment.stores.openPorts();
    const givesUp = new AbortController();
    const mixed: MixedItemStore = {
      ...ports.mixed,
      fence: async (request, options) => {
        const answer = await ports.mixed.fence(request, options);
        givesUp.abort(new Error("given up"));
        return answer;
      },
    };
    const engine = createEngine({ ...ports, mixed }, { commit });
    const failure = failureOf(
      engine.transact({ signal: givesUp.signal }, (tx) => {
        tx.put(rows.name, { ...of, n: number(2) });
        tx.put(plain.name, { ...of, n: number(2) });
        return Promise.resolve();
      }),
    );
    expect(await failure).toMatchObject({ message: "given up" });
    // It waits for what it has left running.
    await engine.close();
    expect(await native.get(rows, of)).toMatchObject({ n: number(1) });
    expect(await native.get(rows, of)).not.toHaveProperty("_f");
    const verdicts = (await logOf(deployment.stores)).at(-1)?.verdicts;
    expect(verdicts).toMatchObject([{ kind: "aborted", reason: { kind: "probed" } }]);
  },
);

test.each(["stream", "express"] as const)(
  "by %s: who slept once it was prepared signs no fence that nobody would look for",
  async (commit) => {
    const of = key(`${commit} slept`);
    const ports = deployment.stores.openPorts();
    let sleptMs = 0;
    const nowMs = () => ports.clock.nowMs() + sleptMs;
    const clock = Object.create(ports.clock, { nowMs: { value: nowMs } }) as Clock;
    const signed: (number | undefined)[] = [];
    const mixed: MixedItemStore = {
      ...ports.mixed,
      fence: (request, options) => {
        signed.push(options?.signBeforeMs);
        return ports.mixed.fence(request, options);
      },
    };
    const beganMs = ports.clock.nowMs();
    const onEvent = ({ kind }: EngineEvent) => {
      if (kind === "sent") sleptMs = 20 * 60_000;
    };
    const engine = createEngine({ ...ports, clock, mixed }, { commit, onEvent });
    await engine
      .transact({ attemptsMax: 1 }, (tx) => {
        tx.put(rows.name, { ...of, n: number(1) });
        tx.put(plain.name, { ...of, n: number(1) });
        return Promise.resolve();
      })
      .catch(() => undefined);
    await engine.close();
    // A guess that nothing is there, and what it shows.
    expect(signed).toHaveLength(2);
    const latestMs = beganMs + limits.ownInstallMsMax + 10_000;
    for (const beforeMs of signed) expect(beforeMs).toBeLessThan(latestMs);
  },
);

describe.each(["stream", "express"] as const)("by %s, a client that stops", (commit) => {
  const stops: readonly Stop[] = ["before the fence", "behind the fence", "before the install"];

  /** A transaction over both tables that has got that far. */
  async function abandoned(at: Stop, of: Item): Promise<void> {
    await native.put(rows, { ...of, n: number(1) });
    const { engine, stopped } = stopping(at, commit);
    void engine.transact({}, async (tx) => {
      await increment(tx, rows, of);
      tx.put(rows.name, { ...besides(of), n: number(1) });
      tx.put(plain.name, { ...of, n: number(1) });
    });
    await stopped;
  }

  test.each(stops)("%s: the next transaction settles it, and goes on", async (at) => {
    const of = key(`${commit} next ${at}`);
    const engine = deployment.openEngine({ commit });
    await abandoned(at, of);
    const isCommitted = at === "before the install";
    const { result } = await engine.transact({}, async (tx) => {
      const n = await increment(tx, rows, of);
      const copy = numberOf(await tx.get(plain.name, of));
      return [n, copy];
    });
    expect(result).toEqual(isCommitted ? [3, 1] : [2, 0]);
    const stored = await native.get(rows, of);
    expect(stored).toMatchObject({ n: number(isCommitted ? 3 : 2) });
    expect(fenceOf(stored ?? {})).toBe(undefined);
    const fresh = await readOne(engine, rows, besides(of));
    expect(fresh === undefined).toBe(!isCommitted);
  });

  test.each(stops)("%s: a native put goes on at once, and stands", async (at) => {
    const of = key(`${commit} native ${at}`);
    await abandoned(at, of);
    await native.put(rows, { ...of, n: number(50) });
    const engine = deployment.openEngine({ commit });
    expect(await readOne(engine, rows, of)).toMatchObject({ n: number(50) });
    const { result } = await engine.transact({}, async (tx) => {
      tx.put(plain.name, { ...of, n: number(7) });
      return increment(tx, rows, of);
    });
    expect(result).toBe(51);
  });

  test.each(stops)("%s: who only reads several items waits for its end", async (at) => {
    const of = key(`${commit} read ${at}`);
    await abandoned(at, of);
    const engine = deployment.openEngine({ commit });
    const { result } = await engine.snapshot({}, async (reader) => [
      numberOf(await reader.get(rows.name, of)),
      numberOf(await reader.get(plain.name, of)),
    ]);
    expect(result).toEqual(at === "before the install" ? [2, 1] : [1, 0]);
  });
});
