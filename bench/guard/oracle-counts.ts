/**
 * Calls of two oracles that take turns at one log, both with warm state: each finds its position
 * taken by the other's last block. What a loss costs is what express clients cost an oracle.
 */
import { systemDigest } from "../../aws/system-digest.ts";
import type { StoredBlock, StreamRecord } from "../../core/ports.ts";
import type { SequenceNumber, ShardId } from "../../core/types.ts";
import { createOracleService, type OracleServiceOptions } from "../../functions/oracle/service.ts";
import { timeLimitMs } from "../../functions/shared/settings.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { sampleHashes, sampleRandom } from "../../testing/sample-hashes.ts";
import { oracleControl, stillClock } from "../oracle-control.ts";
import { checkedTo, payloadOf, requestOf, sampleTable } from "../sample-requests.ts";
import type { Count } from "./budgets.ts";

const shard = "shardId-000000000000" as ShardId;
const turns = 100;

export async function oracleCounts(): Promise<readonly Count[]> {
  const told = await callsPerTurn({ says: true });
  const asked = await callsPerTurn({ says: false });
  const group = "calls of an oracle whose position is taken";
  return [
    { group, name: "the store says what stands there", figure: told },
    { group, name: "the store does not say", figure: asked },
  ];
}

/** @param says whether a refused put brings the block that stands there. */
async function callsPerTurn({ says }: { readonly says: boolean }): Promise<number> {
  const blocks: StoredBlock[] = [];
  let calls = 0;
  const log: OracleServiceOptions["log"] = {
    append(_shard, block) {
      calls += 1;
      const taken = blocks[block.position - 1];
      if (taken === undefined) blocks.push(block);
      return Promise.resolve(
        taken === undefined ? "appended" : { taken: says ? taken : undefined },
      );
    },
    readBackward(_shard, { blocksMax }) {
      calls += 1;
      return Promise.resolve(blocks.slice(-blocksMax).toReversed());
    },
    readAfter(_shard, after) {
      calls += 1;
      return Promise.resolve({ blocks: blocks.slice(after), complete: true });
    },
    readAt: (_shard, position) => Promise.resolve(blocks[position - 1]),
    readSpilled: () => Promise.resolve(undefined),
  };
  const services = [0, 1].map(() =>
    createOracleService({
      log,
      control: oracleControl(checkedTo, sampleTable),
      clock: stillClock,
      random: sampleRandom,
      digest: systemDigest,
      observability: silentObservability,
    }),
  );
  const records = Array.from({ length: turns + 2 }, (_, turn) => recordOf(turn));
  const budget = { remainingMs: () => timeLimitMs("oracle") };
  let before = 0;
  for (let turn = 0; turn < turns + 2; turn++) {
    // The first turn of each is its cold start.
    if (turn === 2) before = calls;
    const batch = { shard, records: records.slice(Math.max(0, turn - 1), turn + 1) };
    await services[turn % 2]?.handle(batch, budget);
  }
  if (blocks.length !== turns + 2) throw new Error("a turn is a block");
  return (calls - before) / turns;
}

function recordOf(turn: number): StreamRecord {
  const request = encodeCommitRequest(requestOf(payloadOf(1, turn), turn));
  return {
    sequenceNumber: `4959${(10n ** 50n + BigInt(turn)).toString()}` as SequenceNumber,
    arrivalMs: checkedTo / 1_000 + 1 + turn,
    data: encodeCommitRecord(sampleHashes.fingerprint, [request]),
  };
}
