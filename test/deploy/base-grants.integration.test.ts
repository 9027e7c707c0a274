/**
 * BASE transactions with the rights that the module gives: their locks and records lie in a table
 * that it makes, and on which everybody has the rights that he has on tables of the user.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClientEngine } from "../../engine/client-engine.ts";
import { createEngine } from "../../engine/engine.ts";
import type { BaseHandler } from "../../engine/base/types.ts";
import type { BodyTransaction } from "../../engine/types.ts";
import { startBundledDeployment, type BundledDeployment } from "./bundled-deployment.ts";
import type { RecordedCall } from "./call-recorder.ts";
import { denied, readGrants } from "./grants.ts";

const grants = readGrants();
const id = { name: "id", type: "S" } as const;
const text = (value: string): { readonly S: string } => ({ S: value });
/** Without the right to do otherwise. */
const byStream = { commit: "stream" } as const;

let deployed: BundledDeployment;
let writer: readonly RecordedCall[];
let reader: readonly RecordedCall[];
let runner: readonly RecordedCall[];

beforeAll(async () => {
  deployed = await startBundledDeployment(
    [{ name: "stepped", partitionKey: id, history: true, base: true }],
    { deployment: "stepping" },
  );
  await deployed.resume("oracle");
  await deployed.resume("replay");
  writer = await takeSteps();
  reader = await readBeside();
  runner = await goOn();
}, 180_000);

afterAll(() => deployed.stop());

async function takeSteps(): Promise<readonly RecordedCall[]> {
  const { ports, recorder } = await deployed.openClient();
  const engine = createClientEngine(ports, byStream);
  const bases = await engine.base();
  const handler: BaseHandler<BodyTransaction> = async (base) => {
    for (const step of ["first", "second"]) {
      await base.step(step, async (tx) => {
        await tx.get("stepped", { id: text("read") });
        tx.put("stepped", { id: text("a"), n: text(step) });
        return { NULL: true };
      });
    }
    return { NULL: true };
  };
  const definition = {
    name: "stepping",
    version: 1,
    handler,
    silentMsMax: 60_000,
    parkAfterMs: 60_000,
  };
  await bases.start({ definition, id: "1", input: { NULL: true } });
  await bases.result({ name: "stepping", id: "1" }, { deadlineMs: 30_000 });
  await engine.close();
  return recorder.calls();
}

async function readBeside(): Promise<readonly RecordedCall[]> {
  const { ports, recorder } = await deployed.openClient();
  const engine = createEngine(ports, byStream);
  await engine.snapshot({}, async (s) => {
    expect(await s.get("stepped", { id: text("a") })).toMatchObject({ n: text("second") });
    await s.scanPage("stepped", {}, {});
  });
  await engine.close();
  return recorder.calls();
}

/** What another process has left behind its first step. */
async function goOn(): Promise<readonly RecordedCall[]> {
  const handlerThat = (between: () => Promise<void>): BaseHandler<BodyTransaction> => {
    return async (base) => {
      for (const step of ["first", "second"]) {
        await base.step(step, async (tx) => {
          tx.put("stepped", { id: text("b"), n: text(step) });
          return Promise.resolve({ NULL: true });
        });
        await between();
      }
      return { NULL: true };
    };
  };
  const definition = { name: "left", version: 1, silentMsMax: 60_000, parkAfterMs: 60_000 };
  const leaving = createClientEngine((await deployed.openClient()).ports, byStream);
  const waiting = handlerThat(() => new Promise(() => undefined));
  const start = { definition: { ...definition, handler: waiting }, id: "1" };
  await (await leaving.base()).start({ ...start, input: { NULL: true } });
  await leaving.close();

  const { ports, recorder } = await deployed.openClient();
  const engine = createClientEngine(ports, byStream);
  const bases = await engine.base();
  const definitions = [{ ...definition, handler: handlerThat(() => Promise.resolve()) }];
  const pace = { takeOverMs: 100, pollMs: 20, signal: undefined } as const;
  await bases.run({ definitions, ...pace, until: "caught-up" });
  expect(await bases.status({ name: "left", id: "1" })).toMatchObject({ isReleased: true });
  await engine.close();
  return recorder.calls();
}

describe("nobody is denied what it takes:", () => {
  test("a client that takes steps has the policy read-write, one that reads read-only", () => {
    expect(denied([...grants.readOnly, ...grants.write], writer)).toEqual([]);
    expect(denied(grants.readOnly, reader)).toEqual([]);
  });

  test("a runner that goes on with steps has the policy read-write, as Terraform gives it", () => {
    expect(runner.length).toBeGreaterThan(0);
    expect(denied([...grants.readOnly, ...grants.write], runner)).toEqual([]);
    expect(denied(grants.readOnly, runner)).not.toEqual([]);
  });

  test.each(["oracle", "replay", "provision"] as const)("function %s", (role) => {
    const calls = deployed.recorders[role].calls();
    expect(calls.length).toBeGreaterThan(0);
    expect(denied(grants[role], calls)).toEqual([]);
  });
});

test("their table is made by Terraform alone; provision registers it, with history", async () => {
  const tables = await deployed.ports.control.tables();
  expect(tables.find(({ name }) => name === "tidemark-stepping-base")).toMatchObject({
    ...{ partitionKey: { name: "pk", type: "S" }, sortKey: { name: "sk", type: "S" } },
    history: true,
  });
  expect(tables.find(({ name }) => name === "stepped")).toMatchObject({ baseSince: 0 });
});
