/**
 * Oracles of several shards over memory, and clients that commit by the protocol: a lone commit
 * where a transaction lies in one shard, else a part in each and, once all have answered, the
 * outcome into each. In rounds of stream time: what is put in one is decided in it, and the
 * outcomes of one round come with the next. Only the oracles' service is on the clock.
 */
import { systemDigest } from "../../aws/system-digest.ts";
import { KeyHasher } from "../../core/key-hash.ts";
import type { StoredBlock, StreamRecord } from "../../core/ports.ts";
import { equalRanges, ShardMap } from "../../core/shard-map.ts";
import type {
  CommitRequest,
  KeyHash,
  LogPosition,
  Part,
  Payload,
  SequenceNumber,
  ShardId,
  ShardNumber,
  TableDescription,
  Timestamp,
  TransactionId,
  Verdict,
  WholeOutcome,
} from "../../core/types.ts";
import type { OracleService } from "../../functions/oracle/service.ts";
import { timeLimitMs } from "../../functions/shared/settings.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { encodePayload } from "../../schemas/payload.ts";
import {
  transactionIdFor,
  transactionIdProofBytes,
  voteProofOf,
} from "../../schemas/transaction-id.ts";
import { sampleHashSecret } from "../../testing/sample-hashes.ts";
import type { BenchRandom } from "../harness/workload.ts";
import { Stopwatch } from "../measure.ts";
import { oracleControl, oracleInMemory } from "../oracle-control.ts";
import type { KeyedTable, KeySet, KeySets } from "./key-sets.ts";

export type ClusterOptions = {
  readonly shards: number;
  readonly keySets: KeySets;
  readonly tables: readonly TableDescription[];
  readonly random: BenchRandom;
  /** Requests, votes included, that a shard is given in a round. */
  readonly requestsPerRound: number;
};

export type Work = {
  /** Transactions that were decided, and those of them that were committed. */
  readonly transactions: number;
  readonly committed: number;
  /** Shards of a transaction, on average. */
  readonly parts: number;
  readonly requests: number;
  readonly cpuMs: number;
};

const roundMs = 50;
const startMs = 1_700_000_000_000;
/** As many as a busy process packs into one. */
const requestsPerRecord = 24;

type Shard = {
  readonly id: ShardId;
  readonly number: ShardNumber;
  readonly hashes: KeyHashes;
  through: Timestamp;
  /** Of the round that comes. */
  votes: Uint8Array[];
  requests: Uint8Array[];
  blocks: StoredBlock[];
};

type UnderWay = {
  readonly proof: Uint8Array;
  readonly shards: readonly Shard[];
  readonly answers: Map<ShardNumber, Verdict>;
};

export class OracleCluster {
  readonly #options: ClusterOptions;
  readonly #shards: readonly Shard[];
  readonly #map: ShardMap;
  readonly #service: OracleService;
  readonly #underWay = new Map<TransactionId, UnderWay>();
  #round = 0;
  #sequence = 10n ** 55n;
  /** Of a transaction, on average: how many requests it makes. */
  #requestsEach = 2;

  constructor(options: ClusterOptions) {
    this.#options = options;
    const ranges = equalRanges(options.shards);
    const entries = ranges.map((from, index) => ({
      ...{ number: index as ShardNumber, from },
      id: `shard-${index.toString()}` as ShardId,
    }));
    this.#map = new ShardMap(entries);
    const start = (startMs * 1_000) as Timestamp;
    this.#shards = entries.map(({ id, number }) => ({
      ...{ id, number, hashes: new KeyHashes(hasherOf(number)), through: start },
      ...{ votes: [], requests: [], blocks: [] },
    }));
    const byId = new Map(this.#shards.map((shard) => [shard.id, shard]));
    const found = (id: ShardId): Shard => {
      const shard = byId.get(id);
      if (shard === undefined) throw new Error(`no shard ${id}`);
      return shard;
    };
    this.#service = oracleInMemory({
      control: {
        ...oracleControl(start, { name: "none", partitionKey: "id" }),
        keyHasher: (id) => Promise.resolve(hasherOf(found(id).number)),
        shardMap: () => Promise.resolve(this.#map),
        shardNumbers: () => Promise.resolve(this.#map.entries.map(({ number }) => number)),
        tables: () => Promise.resolve(options.tables),
        readWatermark: () =>
          Promise.resolve({ position: 0 as LogPosition, timestamp: start, cursor: undefined }),
      },
      // Clients read it later: it is no work of the oracle's.
      appended: (block, id) => {
        found(id).blocks.push(block);
      },
    });
  }

  /** Positions are taken up where they were: what is open of the last round is decided in these. */
  async run(rounds: number): Promise<Work> {
    const stopwatch = new Stopwatch();
    const work = { transactions: 0, committed: 0, parts: 0, requests: 0 };
    for (let n = 0; n < rounds; n += 1) {
      const begun = await this.#begin();
      work.parts += begun.parts;
      work.transactions += begun.transactions;
      this.#round += 1;
      for (const shard of this.#shards) {
        const records = this.#recordsOf(shard);
        work.requests += shard.votes.length + shard.requests.length;
        shard.votes = [];
        shard.requests = [];
        if (records.length === 0) continue;
        const budget = { remainingMs: () => timeLimitMs("oracle") };
        stopwatch.start();
        await this.#service.handle({ shard: shard.id, records }, budget);
        stopwatch.stop();
      }
      work.committed += this.#heed();
    }
    return {
      ...work,
      parts: work.parts / Math.max(1, work.transactions),
      cpuMs: stopwatch.cpuMs,
    };
  }

  /** As many transactions as fill the round beside the outcomes of the one before. */
  async #begin(): Promise<{ readonly transactions: number; readonly parts: number }> {
    const { keySets, random, requestsPerRound } = this.#options;
    const wanted = Math.max(
      1,
      Math.round((requestsPerRound * this.#shards.length) / this.#requestsEach),
    );
    let parts = 0;
    let requests = 0;
    for (let n = 0; n < wanted; n += 1) {
      const touched = this.#send(await keySets.next(random), random);
      parts += touched;
      requests += touched === 1 ? 1 : 2 * touched;
    }
    this.#requestsEach = requests / wanted;
    return { transactions: wanted, parts };
  }

  /** Gives how many shards it touches. */
  #send(keys: KeySet, random: BenchRandom): number {
    const byShard = this.#partsOf(keys);
    const shards = [...byShard.keys()].sort((a, b) => a.number - b.number);
    const secret = Uint8Array.from({ length: transactionIdProofBytes }, () => random.below(256));
    const proof = voteProofOf(secret, systemDigest);
    const seen = Math.min(...shards.map(({ through }) => through)) as Timestamp;
    const id = transactionIdFor(seen, proof, systemDigest);
    const isLone = shards.length === 1;
    const parts: readonly Part[] = shards.map(({ number, through }) => ({
      ...{ shard: number, from: through },
    }));
    for (const shard of shards) {
      const { checks, writes } = byShard.get(shard) ?? noAccess();
      const base = {
        ...({ id, checks, isolation: "serializable", checkedTo: shard.through } as const),
        payload: inline(writes),
      };
      const request: CommitRequest = isLone
        ? { ...base, kind: "commit" }
        : { ...base, kind: "prepare", parts };
      shard.requests.push(encodeCommitRequest(request));
    }
    this.#underWay.set(id, { proof, shards, answers: new Map() });
    return shards.length;
  }

  #partsOf({ reads, queries, writes }: KeySet): Map<Shard, Access> {
    const [first] = this.#shards;
    if (first === undefined) throw new Error("there is no shard");
    const { hashes } = first;
    const byShard = new Map<Shard, Access>();
    const at = (partition: KeyHash): Access => {
      const shard = this.#shards[this.#map.at(partition).number] ?? first;
      let found = byShard.get(shard);
      if (found === undefined) {
        found = noAccess();
        byShard.set(shard, found);
      }
      return found;
    };
    for (const { table, key } of reads) {
      const { partition, key: hash } = hashes.item(table, key);
      const { checks } = at(partition);
      if (!checks.includes(hash)) checks.push(hash);
    }
    for (const { table, key } of queries) {
      const [value] = Object.values(key);
      if (value === undefined) continue;
      const partition = hashes.partition(table.name, value);
      at(partition).checks.push(partition);
    }
    for (const write of writes) {
      at(hashes.item(write.table, write.key).partition).writes.push(write);
    }
    return byShard;
  }

  /** Outcomes first: their clients have waited longer. */
  #recordsOf({ votes, requests, hashes }: Shard): readonly StreamRecord[] {
    const all = [...votes, ...requests];
    const records: StreamRecord[] = [];
    for (let from = 0; from < all.length; from += requestsPerRecord) {
      this.#sequence += 1n;
      const share = from / Math.max(1, all.length);
      records.push({
        sequenceNumber: this.#sequence.toString() as SequenceNumber,
        arrivalMs: startMs + this.#round * roundMs + Math.floor(share * roundMs),
        data: encodeCommitRecord(hashes.fingerprint, all.slice(from, from + requestsPerRecord)),
      });
    }
    return records;
  }

  /** What the logs have answered; gives how many are committed by it. */
  #heed(): number {
    let committed = 0;
    for (const shard of this.#shards) {
      for (const verdict of this.#verdictsOf(shard)) {
        const own = this.#underWay.get(verdict.id);
        if (own === undefined) continue;
        own.answers.set(shard.number, verdict);
        if (own.answers.size < own.shards.length) continue;
        this.#underWay.delete(verdict.id);
        if (this.#decide(verdict.id, own)) committed += 1;
      }
    }
    return committed;
  }

  #verdictsOf(shard: Shard): readonly Verdict[] {
    const { blocks, hashes } = shard;
    shard.blocks = [];
    return blocks.flatMap(({ bytes, position }) => {
      const { verdicts, throughTimestamp } = decodeLogBlock(bytes, position, hashes);
      shard.through = throughTimestamp;
      return verdicts;
    });
  }

  /** Whether it is committed. The outcome comes with the next round. */
  #decide(id: TransactionId, { shards, answers, proof }: UnderWay): boolean {
    const verdicts = [...answers.values()];
    if (shards.length === 1) return verdicts[0]?.kind === "committed";
    let greatest = 0;
    for (const verdict of verdicts) {
      if (verdict.kind === "prepared") greatest = Math.max(greatest, verdict.timestamp);
    }
    const isWhole = verdicts.every(({ kind }) => kind === "prepared");
    const whole: WholeOutcome = isWhole
      ? { kind: "committed", timestamp: greatest as Timestamp }
      : { kind: "aborted" };
    for (const shard of shards) {
      const answer = answers.get(shard.number);
      if (answer?.kind !== "prepared") continue;
      const vote: CommitRequest = {
        ...{ kind: "vote", id, isolation: "serializable", checkedTo: answer.timestamp },
        ...{ checks: [], payload: { kind: "none" }, vote: { proof, stamps: [], whole } },
      };
      shard.votes.push(encodeCommitRequest(vote));
    }
    return isWhole;
  }
}

function hasherOf(number: ShardNumber): KeyHasher {
  return new KeyHasher(sampleHashSecret, number);
}

type Access = { readonly checks: KeyHash[]; readonly writes: KeySet["writes"][number][] };

function noAccess(): Access {
  return { checks: [], writes: [] };
}

function inline(writes: readonly KeySet["writes"][number][]): CommitRequest["payload"] {
  if (writes.length === 0) return { kind: "none" };
  return { kind: "inline", bytes: encodePayload(payloadOf(writes)) };
}

function payloadOf(writes: readonly KeySet["writes"][number][]): Payload {
  const tables: KeyedTable[] = [...new Set(writes.map(({ table }) => table))];
  return {
    tables: tables.map((table) => ({ ...table, history: false })),
    writes: writes.map(({ table, key, item }) => ({ table: tables.indexOf(table), key, item })),
  };
}
