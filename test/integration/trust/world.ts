/**
 * An honest client and somebody with a role's rights beside it, on one deployment. Replay runs when
 * a test calls it.
 */
import { PutRecordsCommand } from "@aws-sdk/client-kinesis";
import { createTables } from "../../../aws/create-tables.ts";
import { assert } from "../../../core/assert.ts";
import type {
  InstalledReport,
  SequenceNumber,
  TableDescription,
  Timestamp,
  TransactionId,
  Verdict,
  LogPosition,
} from "../../../core/types.ts";
import { decodeBlock } from "../../../engine/log/stored-block.ts";
import type { Engine } from "../../../engine/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../../schemas/commit-record.ts";
import { certify, certifyingEngine, runReplay } from "../../functions/replay-runs.ts";
import { recordsAt, type LocalStores } from "../../harness/local-stores.ts";
import { startWithoutReplay } from "../../harness/without-replay.ts";
import { blindCommit, putOf, sealedAt, type SealedId } from "../../simulation/producer.ts";
import { until } from "../fragile.ts";
import { key, number, putAll } from "../support.ts";
import { admitted, type Column, type Scene } from "./probes.ts";
import { actorAs, type Actor, type Role } from "./roles.ts";

export type Sent = { readonly sequenceNumber: SequenceNumber; readonly verdict: Verdict };

export type World = Scene & {
  readonly stores: LocalStores;
  readonly plain: TableDescription;
  /** Written by native operations, too. */
  readonly mixed: string;
  readonly honest: Engine;
  as(role: Role): Promise<Actor>;
  /** The rights, by their names in the document, that a column's probes find. */
  may(role: Role, column: Column): Promise<readonly string[]>;
  /** A commit of an honest client that dies at once: only replay can install it. */
  commitAndDie(name: string): Promise<{ id: TransactionId; at: Timestamp }>;
  /** A timestamp that the oracle takes as checked to. */
  newest(): Promise<Timestamp>;
  /** A producer sends a record; with what was decided on its first request. */
  produce(id: TransactionId, record: Uint8Array): Promise<Sent>;
  /** A producer's commit of a row, over whatever stands there. */
  overwrite(name: string): Promise<SealedId & Sent>;
  /** A record that says that commits are installed, and asks for nothing. */
  produceReports(reports: readonly InstalledReport[]): Promise<Sent>;
  /** With everything that the stream holds from there on. */
  replayFrom(sequenceNumber: SequenceNumber): Promise<void>;
  stop(): Promise<void>;
};

export async function startWorld(): Promise<World> {
  const { deployment, plain, kept } = await startWithoutReplay();
  const { stores } = deployment;
  const foreign = `foreign-${stores.deployment}`;
  await createTables(stores.clientOptions, [{ name: foreign, partitionKey: plain.partitionKey }]);
  const { name: mixed } = await stores.createTable("mixed", { access: "mixed" });
  const honest = deployment.openEngine();
  const scene = { stores, table: plain.name, mixed, foreign };
  const actors = new Map<Role, Actor>();
  const as: World["as"] = async (role) => {
    const tables = [plain.name, kept.name];
    const found = actors.get(role) ?? (await actorAs(role, stores, tables, [mixed]));
    actors.set(role, found);
    return found;
  };
  const newest: World["newest"] = async () => {
    const { commitTimestamp } = await putAll(honest, plain, [key("newest")]);
    assert(commitTimestamp !== undefined, "a write commits at a time");
    return commitTimestamp;
  };
  const produce: World["produce"] = async (id, record) => {
    const sequenceNumber = await put(await as("a producer"), stores, record);
    return { sequenceNumber, verdict: await verdictOn(stores, id) };
  };
  const recordOf = (request: Uint8Array, reports: readonly InstalledReport[] = []): Uint8Array =>
    encodeCommitRecord(stores.hashes.fingerprint, [request], reports);
  return {
    ...{ ...scene, plain, honest, as, newest, produce },
    may: async (role, column) => admitted(await as(role), scene, column),
    commitAndDie: (name) =>
      certify(certifyingEngine(stores), { of: plain, writes: [{ ...key(name), n: number(1) }] }),
    async overwrite(name) {
      const checkedTo = await newest();
      const mine = sealedAt(checkedTo);
      const named = { name: plain.name, partitionKey: "pk", history: false };
      const write = putOf(named, ["pk"], { ...key(name), n: number(666) });
      return {
        ...mine,
        ...(await produce(mine.id, recordOf(blindCommit(mine.id, checkedTo, write)))),
      };
    },
    async produceReports(reports) {
      const { id } = sealedAt(await newest());
      return produce(id, recordOf(abortOf(id), reports));
    },
    async replayFrom(from) {
      const records = await recordsAt(stores, { shard: stores.shard, from, recordsMax: 100 });
      await runReplay(stores, { records });
    },
    async stop() {
      for (const actor of actors.values()) await actor.stop();
      await deployment.stop();
    },
  };
}

async function put(
  { kinesis }: Actor,
  { ports }: LocalStores,
  Data: Uint8Array,
): Promise<SequenceNumber> {
  const Records = [{ Data, PartitionKey: "a" }];
  const StreamName = ports.names.stream;
  const output = await kinesis.send(new PutRecordsCommand({ StreamName, Records }));
  return output.Records?.[0]?.SequenceNumber as SequenceNumber;
}

function abortOf(id: TransactionId): Uint8Array {
  return encodeCommitRequest({
    kind: "abort",
    id,
    isolation: "serializable",
    checkedTo: 0 as Timestamp,
    checks: [],
    payload: { kind: "none" },
  });
}

async function verdictOn(
  { ports, shard, hashes }: LocalStores,
  id: TransactionId,
): Promise<Verdict> {
  let found: Verdict | undefined;
  await until(async () => {
    const { blocks } = await ports.log.readAfter(shard, 0 as LogPosition);
    const verdicts = blocks.flatMap((stored) => decodeBlock(stored, hashes).verdicts);
    found = verdicts.find((each) => each.id === id);
    return found !== undefined;
  });
  assert(found !== undefined, "a verdict was waited for");
  return found;
}
