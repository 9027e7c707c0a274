/**
 * Requests under faults: asked for by several, taken back, begun by runners that crash. Whatever
 * happens, each is made once or not at all, by one input, and what anybody was told holds.
 */
import { expect, test } from "vitest";
import { CommitUnknownError, defineBase, defineTable } from "../../../sdk/index.ts";
import {
  createTestCloud,
  testTable,
  type FaultPlan,
  type TestCloud,
} from "../../../testing/index.ts";

type Client = ReturnType<TestCloud["createClient"]>;
type Note = { readonly by: string };

const notes = defineTable<Note, { readonly request: string; readonly step: string }, "request">(
  "notes",
  { key: ["request", "step"] },
);
const keys = { partitionKey: "request", sortKey: "step" } as const;
const tables = [testTable("notes", { ...keys, history: true, base: true })];
const requestsMax = 14;
const faults: FaultPlan = {
  ...{ "answer-lost": 0.01, "request-late": 0.01, "service-error": 0.01, "request-lost": 0.01 },
  ...{ "service-error-after-effect": 0.01, "clock-skew": 0.3, "freeze-at-call": 0.001 },
};

/** What one of them came to, as somebody was told. */
type Told =
  | { readonly kind: "cancelled" | "refused" | "unknown" }
  | { readonly kind: "result"; readonly by: string };

test.each([2, 4, 6, 8, 10])("seed %i", { timeout: 120_000 }, async (seed) => {
  const cloud = await createTestCloud({ seed, commit: "auto", tables, faults });
  const order = defineBase("order", async (base, by: string) => {
    // Time to take it back, and for another runner to be at it as well.
    await cloud.clock.sleep(500);
    for (const step of ["one", "two"]) {
      await base.step(step, async (tx) => {
        if (step === "one" && by.endsWith("refused")) throw new RangeError("not that one");
        const seen = await tx.get(notes, { request: base.id, step });
        if (seen !== undefined) throw new Error(`step ${step} was made before`);
        tx.put(notes, { request: base.id, step, by });
        return null;
      });
      await cloud.clock.sleep(200);
    }
    return by;
  });
  const told = new Map<string, Told[]>();
  const tell = (id: string, what: Told): void => {
    told.set(id, [...(told.get(id) ?? []), what]);
  };
  const random = (n: number, salt: number): number => (seed * 7919 + n * 104_729 + salt * 31) % 100;

  await cloud.run(
    async () => {
      let isOver = false;
      const runners = ["one", "two"].map(async (name, at) => {
        for (let life = 0; !isOver; life += 1) {
          const process = cloud.startProcess(`runner ${name}`);
          const crashed = new Promise<void>((ended) => {
            process.onCrash(ended);
          });
          const options = { handlers: [order], takeOverMs: 2_000, pollMs: 200 };
          void process.client.baseRunner(options).catch(() => undefined);
          await cloud.clock.sleep(1_500 + random(life, at) * 40);
          process.crash();
          await crashed;
        }
      });

      const ask = async (client: Client, id: string, by: string): Promise<void> => {
        const wish = client.requestBase(order, by, { id });
        const asked = await wish.catch((error: unknown) => error);
        if (asked instanceof CommitUnknownError) tell(id, { kind: "unknown" });
      };
      const takeBack = async (client: Client, id: string): Promise<void> => {
        const isCancelled = await client.baseOf(order, id).cancel();
        const phase = (await client.baseOf(order, id).status())?.phase;
        if (isCancelled && phase === "cancelled") tell(id, { kind: "cancelled" });
        if (isCancelled && phase === "refused") tell(id, { kind: "refused" });
      };
      await Promise.all(
        Array.from({ length: requestsMax }, async (_, n) => {
          const id = n.toString();
          const [x, y] = [cloud.createClient(`x${id}`), cloud.createClient(`y${id}`)];
          await cloud.clock.sleep(random(n, 1) * 60);
          const isRefused = n % 5 === 4;
          const names = isRefused ? ["x refused", "y refused"] : ["x", "y"];
          const [byX = "", byY = ""] = names;
          const both = [ask(x, id, byX), n % 2 === 0 ? ask(y, id, byY) : Promise.resolve()];
          await Promise.all(both);
          if (n % 3 === 0) {
            await cloud.clock.sleep(random(n, 2) * 15);
            await takeBack(y, id).catch(() => undefined);
          }
          const own = n % 4 === 1 ? x.base(order, byX, { id }) : undefined;
          await own?.catch(() => undefined);
          const result = await x
            .baseOf(order, id)
            .result({ deadlineMs: 120_000 })
            .catch(() => null);
          if (result !== null) tell(id, { kind: "result", by: result });
        }),
      );
      cloud.calm();
      isOver = true;
      await Promise.all(runners);
      const last = cloud.createClient("last");
      await last.baseRunner({ handlers: [order], takeOverMs: 1_000, until: "caught-up" });
      expect(await last.openBases()).toEqual([]);
      for (let n = 0; n < requestsMax; n += 1) {
        const status = await last.baseOf(order, n.toString()).status();
        if (status?.phase === "ended") {
          tell(status.id, { kind: "result", by: await last.baseOf(order, status.id).result() });
        } else if (status?.phase === "refused") tell(status.id, { kind: "refused" });
        else if (status?.phase === "cancelled") tell(status.id, { kind: "cancelled" });
      }
    },
    { limitMs: 24 * 3_600_000 },
  );
  expect(await cloud.settled()).toBe(true);

  const rows = cloud.rows(notes);
  for (let n = 0; n < requestsMax; n += 1) {
    const id = n.toString();
    const made = rows.filter(({ request }) => request === id);
    const ends = (told.get(id) ?? []).filter(({ kind }) => kind !== "unknown");
    const distinct = new Set(ends.map((end) => JSON.stringify(end)));
    expect([id, ...distinct]).toHaveLength(2);
    const [end] = ends;
    const by = end?.kind === "result" ? [end.by, end.by] : [];
    expect([id, ...made.map((row) => row.by)]).toEqual([id, ...by]);
  }
});
