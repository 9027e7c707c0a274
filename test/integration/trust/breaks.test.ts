/**
 * Each cell of the second table of "Who can do what" (docs/operations.md): what somebody with a
 * role's rights can break, and what not.
 */
import {
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idempotencySorts } from "../../../core/idempotency-key.ts";
import { createEngine } from "../../../engine/engine.ts";
import { decodeBlock } from "../../../engine/log/stored-block.ts";
import { createApi } from "../../../functions/api/service.ts";
import { decodeCommitRecord } from "../../../schemas/commit-record-reading.ts";
import type { LogPosition, MakerNumber, Timestamp, Verdict, Version } from "../../../core/types.ts";
import { forgedReports } from "../../../testing/kernel/forged-reports.ts";
import { SeededRandom } from "../../../testing/kernel/seeded-random.ts";
import { tableLie, type TableLie } from "../../../testing/kernel/table-lies.ts";
import { callerOf, type Caller } from "../../functions/fixtures/api-harness.ts";
import { certify, certifyingEngine, runReplay } from "../../functions/replay-runs.ts";
import { encodeLogBlock } from "../../schemas/encode-log-block.ts";
import { sealedAt } from "../../simulation/producer.ts";
import { storedN } from "../fragile.ts";
import { key, number, putAll, readOne, text, textCodec } from "../support.ts";
import { expressTrials } from "./express-trials.ts";
import { feedTrials } from "./feed-trials.ts";
import { keeperTrials } from "./keeper-trials.ts";
import { parts, tableWith } from "./page.ts";
import { columns, type Column } from "./probes.ts";
import type { Role } from "./roles.ts";
import type { Breakage, Trials } from "./trial.ts";
import { startWorld, type World } from "./world.ts";

let world: World;
let rest: Caller;

beforeAll(async () => {
  world = await startWorld();
  const { control, clock, random, ...ports } = (await world.as("api")).ports;
  const logger = { info: () => undefined, error: () => undefined };
  const engine = createEngine({ ...ports, control, clock, random });
  rest = callerOf(createApi({ engine, control, clock, random, logger }));
});
afterAll(() => world.stop());

const put = (table: string, item: object) =>
  rest("/v1/transactions", { writes: [{ op: "put", table, item }] });
const n = (name: string): Promise<number> => storedN(world.stores, world.plain, key(name));

async function lacks(role: Role, what: RegExp, where: readonly Column[] = columns): Promise<void> {
  for (const column of where) {
    expect((await world.may(role, column)).filter((right) => what.test(right))).toEqual([]);
  }
}

async function lie(kind: TableLie): Promise<void> {
  const { stores, plain } = world;
  const aims = {
    shard: stores.shard,
    controlTable: stores.ports.names.controlTable,
    hashFingerprint: stores.hashes.fingerprint,
    tables: [plain],
  };
  const checkedTo = await world.newest();
  const record = tableLie(kind, new SeededRandom(kind), { aims, checkedTo });
  const id = decodeCommitRecord(record)[0]?.id ?? sealedAt(checkedTo).id;
  expect((await world.produce(id, record)).verdict.kind).toBe("aborted");
}

const everyTable: Trials = {
  "every registered table": async () => {
    for (const [role, right] of [
      ["replay", "puts"],
      ["reaper", "deletes"],
      ["housekeeping", "puts"],
      ["housekeeping", "deletes"],
    ] as const) {
      expect(await world.may(role, "your tables")).toContain(right);
    }
  },
  watermarks: async () => {
    for (const role of ["replay", "reaper", "housekeeping"] as const) {
      expect(await world.may(role, "control")).toContain("moves watermarks");
    }
  },
};
const paceOfOthers =
  "the pace of others' commits, by what it prepares in their way and leaves: they wait for up to " +
  "2 s, and vote all of it down at once";
const installs: Trials = {
  ...everyTable,
  "results under idempotency keys": async () => {
    for (const role of ["replay", "housekeeping"] as const) {
      expect(await world.may(role, "control")).toContain("saves results of keys");
    }
  },
};
/** It is one right: a block says by itself who has made it. */
const byBlocks: Trials = {
  "by its blocks, all that policy express can": async () => {
    for (const role of ["oracle", "replay", "housekeeping", "policy express"] as const) {
      expect(await world.may(role, "log")).toContain("appends blocks");
    }
  },
};
const noBlocks: Trials = {
  "the log's blocks": async () => {
    expect(await world.may("reaper", "log")).toEqual([]);
  },
};

const noRegistry = (role: "oracle" | "replay" | "housekeeping"): Trials => ({
  "shards and the registry, so no table that is not registered": () =>
    lacks(role, /registers|deletes shards|others/),
});

/** Of BASE transactions: each is tried where requests are. */
const askedForBase =
  "asks for any BASE transaction that a runner has a handler of, with any input, reads the " +
  "result of each by name and id, lists those that are open, lets parked ones go on, and takes " +
  "back what has not begun, whoever asked for it";

const ownTables =
  "Tidemark's own tables, but for that of BASE transactions, and those that are not registered";

const runnersPace =
  "the pace and the cost of runners, by requests that nobody takes up: each look reads them all";

const forgedBases =
  "BASE transactions, by commits to the table of their records: others see half of one, it holds " +
  "items for good, or a feed ends";

const trials: Readonly<Record<string, Breakage>> = {
  "a caller of REST": {
    can: {
      "any item of any registered table, by commits": async () => {
        expect((await put(world.table, { pk: "rest", n: 1 })).status).toBe(200);
        expect(await n("rest")).toBe(1);
      },
      [askedForBase]: [
        "test/functions/api-base-requests.test.ts",
        "test/integration/base-requests.test.ts",
      ],
      "ids of BASE transactions that others would use, for a week, by asking for them first": [
        "test/engine/base/requests.test.ts",
      ],
      [runnersPace]: ["test/engine/base/listing.test.ts"],
    },
    not: {
      "tables that are not registered and Tidemark's own": async () => {
        // That of BASE transactions: test/functions/api-base.integration.test.ts.
        const { logTable, controlTable, versionsTable } = world.stores.ports.names;
        for (const table of [world.foreign, logTable, controlTable, versionsTable]) {
          const written = await put(table, { pk: "shards", sk: "a", shard: "a", key: "a" });
          const read = await rest("/v1/snapshots", { reads: { scans: [{ table }] } });
          for (const { status, body } of [written, read]) {
            expect(status, table).toBe(422);
            expect(body["detail"]).toMatch(/is not registered/);
          }
        }
      },
      "versions and tombstones": async () => {
        for (const name of ["_v", "_x"]) {
          const { status, body } = await put(world.table, { pk: "rest", [name]: 5 });
          expect([status, body["field"]]).toEqual([422, name]);
        }
      },
      "transactions of others, by a token of its own making": async () => {
        const begun = await rest("/v1/transactions/begin", {});
        const token = Buffer.from(begun.body["transaction"] as string, "base64url");
        token[10] = (token[10] ?? 0) ^ 1;
        const transaction = token.toString("base64url");
        const reads = { scans: [{ table: world.table }] };
        const { status, body } = await rest("/v1/transactions/read", { transaction, reads });
        expect([status, body["code"]]).toEqual([422, "invalid-token"]);
      },
    },
  },
  "a producer": {
    can: {
      "any item of any registered table, by commits": async () => {
        await putAll(world.honest, world.plain, [{ ...key("over"), n: number(1) }]);
        expect((await world.overwrite("over")).verdict.kind).toBe("committed");
        await runReplay(world.stores, {});
        expect(await n("over")).toBe(666);
      },
      "its own commits, by saying that they are installed": async () => {
        const { sequenceNumber, verdict, proof } = await world.overwrite("own");
        await world.produceReports([{ timestamp: timeOf(verdict), proof }]);
        await world.replayFrom(sequenceNumber);
        expect(await n("own")).toBe(0);
      },
      "results under idempotency keys that it guesses": [
        "test/simulation/forged-idempotency.test.ts",
      ],
      [paceOfOthers]: ["test/engine/mixed/in-the-way.integration.test.ts"],
      [forgedBases]: ["test/simulation/forged-base-records.test.ts"],
    },
    not: {
      [ownTables]: async () => {
        const { ports, shard } = world.stores;
        const before = await ports.control.readWatermark(shard);
        await lie("own-table");
        await lie("unregistered-table");
        expect(await ports.control.readWatermark(shard)).toEqual(before);
      },
      "keys and history of an item": async () => {
        await lie("other-key");
        await lie("other-history");
      },
      "reads of others, by commits that no table takes": [
        "test/simulation/uninstallable-commits.test.ts",
      ],
      "commits of others, by saying that they are installed, or that what overwrites them is":
        async () => {
          const first = await world.overwrite("before the victims");
          const { at } = await world.commitAndDie("forged");
          const arrivals = [Math.floor(at / 1_000)];
          const hashFingerprint = world.stores.hashes.fingerprint;
          const forged = forgedReports(new SeededRandom("forged"), { hashFingerprint, arrivals });
          await world.produce(decodeCommitRecord(forged)[0]?.id ?? first.id, forged);
          await world.commitAndDie("covered");
          const over = await world.overwrite("covered");
          await world.produceReports([{ timestamp: timeOf(over.verdict), proof: over.proof }]);
          await world.replayFrom(first.sequenceNumber);
          expect(await n("forged")).toBe(1);
          // The victim's write or the one over it; the liar alone can have lost his.
          expect([1, 666]).toContain(await n("covered"));
        },
      "the shard's progress, by records that are none": [
        "test/integration/oracles.test.ts",
        "testing/kernel/hostile-producer.ts",
      ],
      "the oracle's time, by ids and keys of one hash": [
        "test/core/decided-ids.test.ts",
        "test/core/certification-index.test.ts",
      ],
    },
  },
  "policy read-only": {
    can: {
      "nothing, and reads every key and value": async () => {
        await putAll(world.honest, world.plain, [{ ...key("read"), n: number(3) }]);
        const reader = createEngine((await world.as("policy read-only")).ports);
        expect(await readOne(reader, world.plain, key("read"))).toMatchObject({ n: number(3) });
        await reader.close();
      },
    },
    not: {
      "anything stored": () => lacks("policy read-only", /^(?!reads|lists|queries)/),
    },
  },
  "policy read-write": {
    can: {
      "items, past the oracle and with a _v of its choice": async () => {
        const { dynamodb } = await world.as("policy read-write");
        const Item = { ...key("past"), n: number(7), _v: number(5) } as const;
        await dynamodb.send(new PutItemCommand({ TableName: world.table, Item }));
        expect(await readOne(world.honest, world.plain, key("past"))).toMatchObject({
          n: number(7),
        });
      },
      "items of mixed tables, by deleting and changing them": async () => {
        const { dynamodb } = await world.as("policy read-write");
        const at = { TableName: world.mixed, Key: { pk: { S: "mixed" } } };
        await dynamodb.send(new PutItemCommand({ TableName: world.mixed, Item: at.Key }));
        await dynamodb.send(
          new UpdateItemCommand({
            ...at,
            UpdateExpression: "SET n = :n",
            ExpressionAttributeValues: { ":n": number(666) },
          }),
        );
        await dynamodb.send(new DeleteItemCommand(at));
        const { Item } = await dynamodb.send(new GetItemCommand(at));
        expect(Item).toBe(undefined);
      },
      "superseded versions": async () => {
        const { ports } = await world.as("policy read-write");
        const [version, next] = [3 as Version, 9 as Version];
        const of = { table: world.table, key: key("forged version"), item: key("forged version") };
        await ports.versions.save({ ...of, version, next, keptMs: 60_000 });
        const found = world.stores.ports.versions.find(of.table, of.key, 5 as Timestamp);
        expect(await found).toMatchObject({ version, item: of.item });
      },
      "results under idempotency keys": async () => {
        const once = () =>
          world.honest.transact(
            { idempotencyKey: "once" },
            (tx) => {
              tx.put(world.table, key("once"));
              return Promise.resolve("true");
            },
            textCodec,
          );
        await once();
        const { dynamodb } = await world.as("policy read-write");
        const { controlTable } = world.stores.ports.names;
        const Key = { pk: { S: "idempotency#once" }, sk: { S: idempotencySorts.caller } };
        const { Item } = await dynamodb.send(new GetItemCommand({ TableName: controlTable, Key }));
        const forged = { ...Item, result: { S: "forged" } };
        await dynamodb.send(new PutItemCommand({ TableName: controlTable, Item: forged }));
        expect((await once()).result).toBe("forged");
      },
      "spilled payloads of others, which makes dead letters": async () => {
        const large = "x".repeat(390 * 1024);
        const writes = ["large", "larger"].map((name) => ({ ...key(name), data: text(large) }));
        const { id, at } = await certify(certifyingEngine(world.stores), {
          of: world.plain,
          writes,
        });
        await (await world.as("policy read-write")).ports.log.spill(id, [new Uint8Array(9)]);
        const letters: Timestamp[] = [];
        const control = {
          ...world.stores.ports.control,
          saveDeadLetter: ({ timestamp }: { readonly timestamp: Timestamp }) => {
            letters.push(timestamp);
            return Promise.resolve();
          },
        };
        await runReplay(world.stores, { ports: { control } });
        expect(letters).toContain(at);
      },
      "BASE transactions, by writing the table of their records": [
        "test/engine/base/strange-rows.test.ts",
      ],
    },
    not: {
      "the log's blocks, watermarks and the registry, so no decision": () =>
        lacks("policy read-write", /appends blocks|(?<!reads )watermarks|registers/),
      "an item of a transactional table, a table or the stream, by deleting it": async () => {
        const others = columns.filter((column) => column !== "mixed ones, too");
        await lacks("policy read-write", /deletes|takes|updates|splits/, others);
        const { dynamodb } = await world.as("policy read-write");
        const drop = new DeleteItemCommand({ TableName: world.table, Key: { pk: { S: "kept" } } });
        await expect(dynamodb.send(drop)).rejects.toThrow(/AccessDenied|not authorized/i);
      },
      "tables that are not registered": () => lacks("policy read-write", /others/),
      "the secret of REST's tokens": () => lacks("policy read-write", /secret/),
    },
  },
  "policy express": expressTrials,
  "policy housekeeping": keeperTrials,
  "policy feeds": feedTrials,
  "a plain writer": {
    can: {
      "the items of its table": async () => {
        await putAll(world.honest, world.plain, [{ ...key("plain"), n: number(1) }]);
        const { dynamodb } = await world.as("a plain writer");
        await runReplay(world.stores, {});
        const Item = { ...key("plain"), n: number(8) } as const;
        await dynamodb.send(new PutItemCommand({ TableName: world.table, Item }));
        await runReplay(world.stores, {});
        expect(await n("plain")).toBe(8);
      },
    },
    not: {
      "other tables": () => lacks("a plain writer", /others|saves|queues|registers/),
      "the log and its decisions": async () => {
        expect(await world.may("a plain writer", "log")).toEqual([]);
        const { id } = await world.commitAndDie("decided");
        const decidedKey = { pk: { S: "decided" } };
        const { dynamodb } = await world.as("a plain writer");
        await dynamodb.send(new PutItemCommand({ TableName: world.table, Item: decidedKey }));
        expect(await world.honest.outcome(id)).toMatchObject({ kind: "committed" });
      },
    },
  },
  replay: {
    can: {
      ...installs,
      "any item of any registered table, by commits": async () => {
        for (const role of ["replay", "a producer"] as const) {
          expect(await world.may(role, "stream")).toContain("puts");
        }
      },
      ...byBlocks,
    },
    not: noRegistry("replay"),
  },
  reaper: { can: everyTable, not: noBlocks },
  housekeeping: { can: { ...installs, ...byBlocks }, not: noRegistry("housekeeping") },
  splitter: {
    can: {
      "all that policy express can, by its blocks": async () => {
        expect(await world.may("splitter", "log")).toContain("appends blocks");
      },
      "the map of the shards, by taking ranges apart or leaving them to nobody": async () => {
        const { ports } = world.stores;
        const { dynamodb } = await world.as("splitter");
        const { controlTable: TableName } = ports.names;
        const listed = await dynamodb.send(
          new QueryCommand({
            ...{ TableName, KeyConditionExpression: "pk = :pk" },
            ExpressionAttributeValues: { ":pk": { S: "shards" } },
          }),
        );
        // As it stands: whoever may put that may put another one.
        const [Item] = listed.Items ?? [];
        await dynamodb.send(new PutItemCommand({ TableName, Item }));
      },
      watermarks: async () => {
        expect(await world.may("splitter", "control")).toContain("moves watermarks");
      },
      "it reads what the log holds, every key and value that was lately written": async () => {
        expect(await world.may("splitter", "log")).toContain("queries");
      },
    },
    not: {
      items: async () => {
        expect(await world.may("splitter", "your tables")).toEqual([]);
      },
      "what stands in the log": () => lacks("splitter", /^deletes$|^updates$/, ["log"]),
      "the registry, so no table that is not registered": () =>
        lacks("splitter", /registers|others/),
    },
  },
  oracle: {
    can: {
      "every decision from then on": async () => {
        const { ports, shard, hashes } = world.stores;
        const { log } = (await world.as("oracle")).ports;
        const [stored] = await ports.log.readBackward(shard, { blocksMax: 1 });
        if (stored === undefined) throw new Error("the scene: a log with a block");
        const last = decodeBlock(stored, hashes);
        const { id } = sealedAt(last.throughTimestamp);
        const timestamp = (last.throughTimestamp + 1) as Timestamp;
        const position = (last.position + 1) as LogPosition;
        const payload = { kind: "inline", bytes: new Uint8Array(0) } as const;
        const forged = {
          ...last,
          ...{ position, previousTimestamp: last.throughTimestamp, throughTimestamp: timestamp },
          maker: { number: 1 as MakerNumber, installed: [] },
          verdicts: [{ kind: "committed", id, timestamp, writes: [], payload } as const],
        };
        const bytes = encodeLogBlock(forged, hashes);
        expect(await log.append(shard, { position, bytes })).toBe("appended");
        expect(await world.honest.outcome(id)).toMatchObject({ kind: "committed" });
      },
      ...byBlocks,
    },
    not: noRegistry("oracle"),
  },
  provision: {
    can: {
      "everything, by the registry": async () => {
        const { control } = (await world.as("provision")).ports;
        const { foreign: name, plain } = world;
        await control.registerTable({ ...plain, name });
        expect((await putAll(world.honest, { ...plain, name }, [key("a")])).installed).toBe(true);
      },
    },
    not: {},
  },
};

test("every statement of the document is tried, and nothing else", () => {
  const said = tableWith("cannot break").map(({ who, cells }) => [
    who,
    parts(cells["can break"] ?? "", "; "),
    parts(cells["cannot break"] ?? "", "; "),
  ]);
  const tried = Object.entries(trials).map(([who, { can, not }]) => [
    who,
    Object.keys(can),
    Object.keys(not),
  ]);
  expect(tried).toEqual(said);
});

describe.each(Object.entries(trials))("%s", (_, { can, not }) => {
  const rows = [
    ...Object.entries(can).map(([what, trial]) => ["can break", what, trial] as const),
    ...Object.entries(not).map(([what, trial]) => ["cannot break", what, trial] as const),
  ];
  test.each(rows)("%s %s", async (_column, _what, trial) => {
    if (typeof trial === "function") return trial();
    const root = new URL("../../../", import.meta.url);
    expect(trial.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
  });
});

function timeOf(verdict: Verdict): Timestamp {
  if (!("timestamp" in verdict)) throw new Error("the scene: a decision with a time");
  return verdict.timestamp;
}
