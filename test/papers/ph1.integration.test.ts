/**
 * Claims of pH1 (SRDS '14) on real stores: snapshot isolation over a store that keeps one version,
 * by a version store that may be lost, with the store's own interface left as it is. docs/papers.md
 * lists all claims.
 */
import {
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { StoreError } from "../../core/errors.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import type { Engine, Reader, Receipt } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import {
  createTables,
  deleteAll,
  failureOf,
  gate,
  key,
  number,
  numberOf,
  openDynamoDb,
  putAll,
  queryRows,
  readOne,
  scanRows,
  text,
  textOf,
} from "../integration/support.ts";

let deployment: LocalDeployment;
let plain: TableDescription;
let kept: TableDescription;
let engine: Engine;
let other: Engine;
let foreign: DynamoDBClient;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  let sorted: TableDescription;
  [plain, sorted, kept] = await createTables(deployment.stores);
  expect(sorted.history).toBe(false);
  foreign = openDynamoDb(deployment.stores);
});
beforeEach(() => {
  engine = deployment.openEngine();
  other = deployment.openEngine();
});
afterAll(async () => {
  foreign.destroy();
  await deployment.stop();
});

const row = (partition: string, sk: string, n: number): Item => ({
  ...key(partition, sk),
  n: number(n),
});

function at({ commitTimestamp }: Receipt): Timestamp {
  if (commitTimestamp === undefined) throw new Error("nothing was committed");
  return commitTimestamp;
}

async function nAt(asOf: number, of: Item): Promise<number | undefined> {
  const { result } = await engine.snapshot(
    { asOf: asOf as Timestamp, attemptsMax: 1 },
    (snapshot) => snapshot.get(kept.name, of),
  );
  return result === undefined ? undefined : numberOf(result);
}

/** `sk=n` of the partition's rows, by a query and by a scan; both must say the same. */
async function rowsOf(reader: Reader, partition: string): Promise<string[]> {
  const shown = (item: Item): string => `${textOf(item, "sk") ?? ""}=${numberOf(item).toString()}`;
  const queried = await queryRows(reader, kept, { partitionKey: text(partition) }, 2);
  const scanned = (await scanRows(reader, kept, 3)).filter(
    (item) => textOf(item, "pk") === partition,
  );
  expect(scanned.map(shown).sort()).toEqual(queried.map(shown).sort());
  return queried.map(shown);
}

describe("pH1, read", () => {
  test("a snapshot gets the newest version at or below its timestamp", async () => {
    const of = key("versions", "a");
    const commits: Timestamp[] = [];
    for (let n = 1; n <= 4; n += 1)
      commits.push(at(await putAll(other, kept, [row("versions", "a", n)])));
    for (const [i, commit] of commits.entries()) {
      expect(await nAt(commit, of)).toBe(i + 1);
      expect(await nAt(commit - 1, of)).toBe(i === 0 ? undefined : i);
      if (commits[i + 1] !== commit + 1) expect(await nAt(commit + 1, of)).toBe(i + 1);
    }
  });

  test("a transaction gets its own writes before anything else", async () => {
    await putAll(other, kept, [row("own", "a", 1), row("own", "b", 1)]);
    const { result } = await engine.transact({ isolation: "snapshot" }, async (tx) => {
      tx.put(kept.name, row("own", "a", 2));
      tx.delete(kept.name, key("own", "b"));
      return [await tx.get(kept.name, key("own", "a")), await tx.get(kept.name, key("own", "b"))];
    });
    expect(result).toEqual([row("own", "a", 2), undefined]);
  });

  test("a read-only transaction never aborts, whatever is written meanwhile", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    await putAll(
      other,
      kept,
      names.map((sk) => row("calm", sk, 0)),
    );
    const { result, receipt } = await engine.snapshot({ attemptsMax: 1 }, async (snapshot) => {
      const seen: number[] = [];
      for (const [i, sk] of names.entries()) {
        seen.push(numberOf(await snapshot.get(kept.name, key("calm", sk))));
        await putAll(
          other,
          kept,
          names.map((each) => row("calm", each, i + 1)),
        );
      }
      return seen;
    });
    expect(result).toEqual([0, 0, 0, 0, 0, 0]);
    expect(receipt.attempts).toBe(1);
  });
});

describe("pH1, scan", () => {
  test("a range shows the state at its timestamp, own writes laid over it", async () => {
    await putAll(
      other,
      kept,
      ["a", "b", "c", "d"].map((sk) => row("range", sk, 1)),
    );
    const failure = await failureOf(
      engine.transact({ isolation: "snapshot", attemptsMax: 1 }, async (tx) => {
        await tx.get(kept.name, key("range", "a"));
        await other.transact({}, (meanwhile) => {
          meanwhile.put(kept.name, row("range", "a", 2));
          meanwhile.put(kept.name, row("range", "bb", 2));
          meanwhile.delete(kept.name, key("range", "c"));
          return Promise.resolve();
        });
        expect(await rowsOf(tx, "range")).toEqual(["a=1", "b=1", "c=1", "d=1"]);
        tx.put(kept.name, row("range", "a", 9));
        tx.put(kept.name, row("range", "e", 9));
        tx.delete(kept.name, key("range", "d"));
        expect(await rowsOf(tx, "range")).toEqual(["a=9", "b=1", "c=1", "e=9"]);
      }),
    );
    // The first committer of "a" was the other one.
    expect(failure).toMatchObject({ code: "conflict", detail: { key: key("range", "a") } });
    const { result } = await engine.snapshot({}, (snapshot) => rowsOf(snapshot, "range"));
    expect(result).toEqual(["a=2", "b=1", "bb=2", "d=1"]);
  });
});

describe("pH1, delete", () => {
  test("a deleted item is there for older snapshots only; no late install revives it", async () => {
    const of = key("deleted", "a");
    const put = at(await putAll(other, kept, [row("deleted", "a", 1)]));
    const deleted = at(await deleteAll(other, kept, [of]));
    expect([await nAt(put, of), await nAt(deleted - 1, of), await nAt(deleted, of)]).toEqual([
      1,
      1,
      undefined,
    ]);
    const { items } = deployment.stores.ports;
    const late = { table: kept.name, key: of, item: row("deleted", "a", 1), version: put };
    for (const expects of ["below", 0 as Timestamp] as const) {
      const request = { ...late, expects, signBeforeMs: Number.MAX_SAFE_INTEGER };
      expect(await items.install(request)).toBe("superseded");
    }
    const again = at(await putAll(other, kept, [row("deleted", "a", 2)]));
    expect([await nAt(deleted, of), await nAt(again, of)]).toEqual([undefined, 2]);
  });
});

describe("pH1, flush", () => {
  test("a version is in the version store before it is overwritten in the store", async () => {
    await putAll(other, kept, [row("flush", "a", 1)]);
    const { versions } = deployment.stores.ports;
    const [began, fail] = [gate(), gate()];
    const broken = deployment.openEngine({
      ports: {
        versions: {
          ...versions,
          async save() {
            began.open();
            await fail.opened;
            throw new StoreError("unavailable", "scripted");
          },
        },
      },
    });
    await deployment.replay.stop();
    const committing = broken.transact({}, (tx) => {
      tx.put(kept.name, row("flush", "a", 2));
      return Promise.resolve();
    });
    await began.opened;
    const { items } = deployment.stores.ports;
    expect(numberOf((await items.get(kept, key("flush", "a"))).item)).toBe(1);
    fail.open();
    const { receipt } = await committing;
    // The commit stands although its flush failed; whoever meets it finishes both halves.
    expect(receipt.installed).toBe(false);
    expect(numberOf((await items.get(kept, key("flush", "a"))).item)).toBe(1);
    expect(numberOf(await readOne(other, kept, key("flush", "a")))).toBe(2);
    expect(await nAt(at(receipt) - 1, key("flush", "a"))).toBe(1);
    await deployment.replay.start();
  });

  test("flushes that stop halfway, and are repeated, leave a chain without a gap", async () => {
    const of = key("chain", "a");
    const commits: Timestamp[] = [];
    const { items, versions } = deployment.stores.ports;
    for (let n = 1; n <= 6; n += 1) {
      let stumbled = false;
      const stumbling = deployment.openEngine({
        ports: {
          items: {
            ...items,
            install(...request) {
              if (stumbled) return items.install(...request);
              stumbled = true;
              return Promise.reject(new StoreError("unavailable", "scripted"));
            },
          },
        },
      });
      const { receipt } = await stumbling.transact({}, (tx) => {
        tx.put(kept.name, row("chain", "a", n));
        return Promise.resolve();
      });
      commits.push(at(receipt));
    }
    expect(numberOf(await readOne(other, kept, of))).toBe(6);
    for (const [i, commit] of commits.slice(0, -1).entries()) {
      expect(await versions.find(kept.name, of, commit)).toMatchObject({
        version: commit,
        next: commits[i + 1],
        item: { n: number(i + 1) },
      });
    }
  });
});

describe("pH1, a version store that is not persistent", () => {
  test("losing all of it loses no committed data, only older snapshots, and says so", async () => {
    const of = key("lost", "a");
    const first = at(await putAll(other, kept, [row("lost", "a", 1), row("lost", "b", 1)]));
    const second = at(await putAll(other, kept, [row("lost", "a", 2)]));
    expect(await nAt(first, of)).toBe(1);
    await loseVersionStore();

    expect(numberOf(await readOne(engine, kept, of))).toBe(2);
    const { result } = await engine.snapshot({}, (snapshot) => rowsOf(snapshot, "lost"));
    expect(result).toEqual(["a=2", "b=1"]);
    // What has not changed since needs no version store.
    expect(await nAt(first, key("lost", "b"))).toBe(1);
    expect(await nAt(second, of)).toBe(2);
    for (const read of [
      (snapshot: Reader) => snapshot.get(kept.name, of),
      (snapshot: Reader) => rowsOf(snapshot, "lost"),
    ]) {
      const old = engine.snapshot<unknown>({ asOf: first, attemptsMax: 1 }, read);
      expect(await failureOf(old)).toMatchObject({ code: "snapshot-too-old" });
    }

    const third = at(await putAll(other, kept, [row("lost", "a", 3)]));
    expect([await nAt(second, of), await nAt(third - 1, of), await nAt(third, of)]).toEqual([
      2, 2, 3,
    ]);
  });

  test("losing a part of it makes no older version pass for a lost one", async () => {
    const of = key("partly", "a");
    const commits: Timestamp[] = [];
    for (let n = 1; n <= 4; n += 1) {
      commits.push(at(await putAll(other, kept, [row("partly", "a", n)])));
    }
    const [first, second, third, fourth] = commits;
    if (first === undefined || second === undefined || third === undefined) throw new Error("four");
    await loseVersionStore((version) => version === third);
    expect([await nAt(first, of), await nAt(second, of), await nAt(third - 1, of)]).toEqual([
      1, 2, 2,
    ]);
    expect(await failureOf(nAt(third, of))).toMatchObject({ code: "snapshot-too-old" });
    expect(await nAt(fourth ?? 0, of)).toBe(4);
  });

  test("a transaction under way while it is lost never reads wrongly", async () => {
    await putAll(other, kept, [row("midway", "a", 1), row("midway", "b", 1)]);
    let runs = 0;
    const { result } = await engine.snapshot({}, async (snapshot) => {
      runs += 1;
      const a = numberOf(await snapshot.get(kept.name, key("midway", "a")));
      if (runs === 1) {
        await putAll(other, kept, [row("midway", "a", 2), row("midway", "b", 2)]);
        await loseVersionStore();
      }
      return [a, numberOf(await snapshot.get(kept.name, key("midway", "b")))];
    });
    expect({ result, runs }).toEqual({ result: [2, 2], runs: 2 });
  });

  async function loseVersionStore(
    isLost: (version: number) => boolean = () => true,
  ): Promise<void> {
    const { versionsTable: TableName } = deployment.stores.ports.names;
    const { Items = [], LastEvaluatedKey } = await foreign.send(
      new ScanCommand({
        TableName,
        ConsistentRead: true,
        ProjectionExpression: "#k, #v",
        ExpressionAttributeNames: { "#k": "key", "#v": "version" },
      }),
    );
    expect(LastEvaluatedKey).toBeUndefined();
    const lost = Items.filter(({ version }) => isLost(Number(version?.N)));
    expect(lost.length).toBeGreaterThan(0);
    for (const Key of lost) await foreign.send(new DeleteItemCommand({ TableName, Key }));
  }
});

describe("pH1, the store's own interface", () => {
  test("a foreign client gets, queries and scans committed items as they are", async () => {
    const { commitTimestamp } = await putAll(engine, kept, [row("foreign", "a", 1)]);
    await putAll(engine, kept, [row("foreign", "b", 2)]);
    const stored = { ...row("foreign", "a", 1), _v: number(commitTimestamp ?? 0) };
    const TableName = kept.name;
    const got = await foreign.send(
      new GetItemCommand({
        TableName,
        Key: { ...key("foreign", "a") } as never,
        ConsistentRead: true,
      }),
    );
    expect(got.Item).toEqual(stored);
    const queried = await foreign.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": { S: "foreign" } },
        ConsistentRead: true,
      }),
    );
    expect(queried.Items?.map((item) => item["n"])).toEqual([number(1), number(2)]);
    const scanned = await foreign.send(
      new ScanCommand({
        TableName,
        FilterExpression: "pk = :pk AND n > :n",
        ExpressionAttributeValues: { ":pk": { S: "foreign" }, ":n": { N: "1" } },
        ConsistentRead: true,
      }),
    );
    expect(scanned.Items?.map((item) => item["sk"])).toEqual([text("b")]);
  });

  test("a foreign client sees nothing of a transaction that has not committed", async () => {
    await engine.transact({}, async (tx) => {
      tx.put(plain.name, { ...key("buffered"), n: number(1) });
      const { Item } = await foreign.send(
        new GetItemCommand({ TableName: plain.name, Key: { pk: text("buffered") } }),
      );
      expect(Item).toBeUndefined();
    });
  });

  test("items that a foreign client put are read, kept in history, and overwritten", async () => {
    const item = { pk: text("adopted"), sk: text("a"), n: number(7), tags: { SS: ["x", "y"] } };
    await foreign.send(new PutItemCommand({ TableName: kept.name, Item: item }));
    const { result, receipt } = await engine.transact({ isolation: "snapshot" }, async (tx) => {
      const before = await tx.get(kept.name, key("adopted", "a"));
      tx.put(kept.name, { ...item, n: number(numberOf(before) + 1) });
      return before;
    });
    expect(result).toEqual(item);
    expect(await nAt(at(receipt), key("adopted", "a"))).toBe(8);
    expect(await nAt(at(receipt) - 1, key("adopted", "a"))).toBe(7);
  });
});
