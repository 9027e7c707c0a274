/** What those meet who use BASE transactions for the first time. */
import { beforeEach, describe, expect, test } from "vitest";
import {
  defineBase,
  InvalidRequestError,
  type AnyBase,
  type BaseStartOptions,
} from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { createTables } from "../../../aws/create-tables.ts";
import { registerTables } from "../../../aws/register-tables.ts";
import { registeredTable } from "../../../testing/deployment-options.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
});

function amountOf(id: string): number | undefined {
  return cloud.rows(accounts).find((row) => row.id === id)?.amount;
}

test("a client that began before the first table for BASE transactions learns of it", async () => {
  const before = await createTestCloud({
    commit: "express",
    tables: [testTable("plain", { partitionKey: "id" })],
  });
  await before.run(async () => {
    const client = before.createClient("client");
    await expect(client.openBases()).rejects.toMatchObject({ field: "table" });
    const operator = before.world.startProcess("second-operator", { exact: true });
    const aws = { handles: before.world.handles(operator, { calm: true }), clock: operator.clock };
    await createTables(aws, tables);
    const { deployment } = before.deployment.options;
    await registerTables({ ...aws, deployment }, tables.map(registeredTable));
    expect(await client.openBases()).toEqual([]);
  });
});

describe("a step without await", () => {
  test("keeps a handler from ending before it", async () => {
    const hasty = defineBase("hasty", async (base, _: null) => {
      await base.step("one", (tx) => {
        tx.put(accounts, { id: "a", amount: 1 });
        return Promise.resolve(null);
      });
      void base.step("two", (tx) => {
        tx.put(accounts, { id: "b", amount: 2 });
        return Promise.resolve(null);
      });
      return "done";
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(hasty, null, { id: "1" });
      await expect(accepted.result({ deadlineMs: 2_000 })).rejects.toThrow(
        /goes on .* made 2 steps .* failed \(1\), last by .*before its step "two" had: `await`/,
      );
    });
  });

  test("that is the first one is not denied: it is committed, so all of it goes on", async () => {
    const hasty = defineBase("hasty", async (base, _: null) => {
      const one = base.step("one", (tx) => {
        tx.put(accounts, { id: "a", amount: 1 });
        return Promise.resolve(null);
      });
      await Promise.all([one, base.step("two", () => Promise.resolve(null))]);
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(hasty, null, { id: "1" });
      const status = await accepted.status();
      expect(status?.steps).toBe(1);
      // Installed a moment later.
      await cloud.clock.sleep(1_000);
    });
    expect(amountOf("a")).toBe(1);
  });

  test("is refused once its handler has ended", async () => {
    let late: Promise<unknown> = Promise.resolve();
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const forgetful = defineBase("forgetful", async (base, _: null) => {
      await base.step("one", () => Promise.resolve(null));
      late = ended.then(() => base.step("two", () => Promise.resolve(null)));
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      const { accepted } = await client.base(forgetful, null, { id: "1" });
      await accepted.result();
      end();
      await expect(late).rejects.toMatchObject({ field: "step" });
    });
  });
});

describe("what is wrong is named", () => {
  const fine = defineBase("fine", async (base, _: unknown) => {
    await base.step("one", () => Promise.resolve(null));
  });
  const refused: [string, string, RegExp, (client: Client) => Promise<unknown>][] = [
    ["no options", "id", /needs an `id`/, (client) => begin(client, undefined)],
    ["an id that is no text", "id", /non-empty string/, (client) => begin(client, { id: 5 })],
    [
      "an input that cannot be kept",
      "input",
      /^the input is kept .* input\.made is a function/,
      (client) => client.base(fine, { made: () => 1 }, { id: "1" }),
    ],
    [
      "two handlers of one name and version",
      "handlers",
      /has "fine" in version 1 twice: raise the `version`/,
      (client) => client.baseRunner({ handlers: [fine, { ...fine }] }),
    ],
    [
      "a name in place of a definition",
      "definition",
      /what defineBase makes/,
      (client) => client.baseOf("fine" as never, "1").status(),
    ],
    [
      "no id of what is looked up",
      "id",
      /non-empty string/,
      (client) => client.baseOf(fine, undefined as never).cancel(),
    ],
  ];

  function begin(client: Client, options: unknown): Promise<unknown> {
    return client.base(fine, null, options as BaseStartOptions);
  }

  test.each(refused)("%s", async (_title, field, message, task) => {
    await cloud.run(async () => {
      const error: unknown = await task(cloud.createClient("client")).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(InvalidRequestError);
      expect(error).toMatchObject({ field, message: expect.stringMatching(message) as string });
    });
  });

  test("options behind the handler, which would not count", () => {
    const misplaced = defineBase as unknown as (...given: readonly unknown[]) => AnyBase;
    const handler = () => Promise.resolve(null);
    expect(() => misplaced("late", handler, { version: 2 })).toThrow(
      "the last argument must be the handler, a function",
    );
  });

  test("a name that is none", () => {
    const define = (name: unknown): AnyBase =>
      defineBase(name as string, () => Promise.resolve(null));
    for (const name of [undefined, 7, "", "two words", "n".repeat(65)]) {
      expect(() => define(name)).toThrow(InvalidRequestError);
    }
  });
});

type Client = ReturnType<TestCloud["createClient"]>;
