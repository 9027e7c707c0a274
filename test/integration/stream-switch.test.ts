/**
 * The stream is closed, taken away and made again under clients that move money, on real protocol
 * servers and by what provisioning runs (docs/protocol.md §3, Closing the stream). The whole
 * history is then judged (I1 to I9): each acknowledged commit is in the log, and installed.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { provisioningNumber } from "../../core/block-order.ts";
import { isStreamEnd } from "../../core/cursor.ts";
import type { Item, LogBlock, TableDescription } from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { complaints, type Performed, type Sample } from "./checker.ts";
import { until } from "./fragile.ts";
import { look, perform, readLog, sample } from "./performing.ts";
import { key, number, numberOf } from "./support.ts";

const ways = ["stream", "stream", "auto", "express"] as const;
const accountCount = 8;
const openingCents = 100;
/** What each client has to get done before the next switch; and who looks at all of it. */
const transfersBetween = 4;
const auditsBetween = 1;

const accountKeys = Array.from({ length: accountCount }, (_, i) => key(`account-${i.toString()}`));

let deployment: LocalDeployment;
let accounts: TableDescription;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  accounts = await deployment.stores.createTable("accounts");
});
afterAll(() => deployment.stop());

type Load = {
  readonly turns: number;
  /** Turns before the next switch. */
  readonly between: number;
  end(): Promise<void>;
};

/** One transaction after another, until its end is asked for. */
function repeating(
  once: (turn: number) => Promise<Performed>,
  { performed, between }: { readonly performed: Performed[]; readonly between: number },
): Load {
  const over = new AbortController();
  let turns = 0;
  const running = (async () => {
    while (!over.signal.aborted) {
      performed.push(await once(turns));
      turns += 1;
    }
  })();
  // It is told by `end`; until then nobody may look.
  running.catch(() => undefined);
  return {
    between,
    get turns() {
      return turns;
    },
    end: () => {
      over.abort();
      return running;
    },
  };
}

function transfer(engine: Engine, [from, to]: readonly [Item, Item]): Promise<Performed> {
  return perform(engine, "serializable", async (tx) => {
    const source = numberOf(await tx.get(accounts, from));
    const target = numberOf(await tx.get(accounts, to));
    tx.put(accounts, { ...from, n: number(source - 1) });
    tx.put(accounts, { ...to, n: number(target + 1) });
  });
}

/** Another pair at each turn of each client; they meet now and then. */
function pairOf(client: number, turn: number): readonly [Item, Item] {
  const from = (client * 3 + turn * 5) % accountCount;
  const to = (from + 1 + ((client + turn) % (accountCount - 1))) % accountCount;
  return [accountKeys[from] ?? {}, accountKeys[to] ?? {}];
}

test("nothing is lost, and nobody stops, while the stream goes, comes back and goes", async () => {
  const performed: Performed[] = [];
  const samples: Sample[] = [];
  const { stores } = deployment;
  const all = accountKeys.map((each) => ({ table: accounts, key: each }));
  const opening = deployment.openEngine();
  performed.push(
    await perform(opening, "serializable", (tx) => {
      for (const each of accountKeys) tx.put(accounts, { ...each, n: number(openingCents) });
      return Promise.resolve();
    }),
  );
  const auditor = deployment.openEngine();
  const audit = (): Promise<Performed> =>
    look(auditor, async (reader) => {
      await Promise.all(accountKeys.map((each) => reader.get(accounts, each)));
    });
  const loads = [
    ...ways.map((commit, client) => {
      const engine = deployment.openEngine({ commit });
      return repeating((turn) => transfer(engine, pairOf(client, turn)), {
        performed,
        between: transfersBetween,
      });
    }),
    repeating(audit, { performed, between: auditsBetween }),
  ];
  const allGoOn = async (): Promise<void> => {
    const wanted = loads.map(({ turns, between }) => turns + between);
    await until(() => Promise.resolve(loads.every(({ turns }, i) => turns >= (wanted[i] ?? 0))));
  };
  await allGoOn();
  for (const isOn of [false, true, false]) {
    await deployment.switchStream(isOn);
    await allGoOn();
    samples.push(await sample(stores, all));
  }
  await Promise.all(loads.map(({ end }) => end()));
  await deployment.runReplay();
  samples.push(await sample(stores, all));

  const blocks = await readLog(stores);
  const stored = await stores.ports.items.batchGet(all);
  const final = all.map((each, i) => ({ ...each, item: stored[i]?.item }));
  const { hashes } = stores;
  expect(complaints({ hashes, blocks, performed, samples, final })).toEqual([]);
  const sum = (items: readonly (Item | undefined)[]): number =>
    items.reduce((total, item) => total + numberOf(item), 0);
  const audits = performed.filter(({ id }) => id === undefined);
  const sums = new Set(audits.map(({ reads }) => sum(reads.map(({ item }) => item))));
  sums.add(sum(final.map(({ item }) => item)));
  expect(sums).toEqual(new Set([accountCount * openingCents]));
  expectSwitched(blocks);
});

/** Oracles decide exactly where the log says that there is a stream. */
function expectSwitched(blocks: readonly LogBlock[]): void {
  const switches: string[] = [];
  let byOracle = 0;
  for (const { maker, cursor } of blocks) {
    if (maker?.number === provisioningNumber) {
      switches.push(isStreamEnd(cursor) ? "closed" : "opened");
      if (isStreamEnd(cursor)) {
        expect(byOracle).toBeGreaterThan(0);
        byOracle = 0;
      }
    } else if (maker === undefined) {
      expect(switches.at(-1)).not.toBe("closed");
      byOracle += 1;
    }
  }
  expect(switches).toEqual(["closed", "opened", "closed"]);
}
