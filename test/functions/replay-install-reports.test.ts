/** Whom replay believes that a commit is installed: only who has the proof of its id. */
import { expect, test } from "vitest";
import { systemDigest } from "../../aws/system-digest.ts";
import type { StoredBlock } from "../../core/ports.ts";
import type {
  CommittedVerdict,
  InstalledReport,
  LogPosition,
  MakerNumber,
  Timestamp,
} from "../../core/types.ts";
import { InstallReports } from "../../functions/replay/install-reports.ts";
import { transactionIdFor, voteProofOf } from "../../schemas/transaction-id.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";

const victim = 0xab as MakerNumber;
const nothing = 0 as Timestamp;

function proofOf(n: number): Uint8Array {
  return new Uint8Array(9).fill(n);
}

/** A client's, whose proof is the number over and over. */
function commit(n: number): CommittedVerdict {
  const id = transactionIdFor(nothing, proofOf(n), systemDigest);
  const payload = { kind: "inline", bytes: new Uint8Array() } as const;
  return { kind: "committed", id, timestamp: n as Timestamp, writes: [], payload };
}

function block(
  number: MakerNumber,
  ...reports: readonly (readonly [number, number])[]
): StoredBlock {
  const installed = reports.map(([timestamp, proof]): InstalledReport => ({
    timestamp: timestamp as Timestamp,
    proof: proofOf(proof),
  }));
  return blockWith(number, installed);
}

function blockWith(number: MakerNumber, installed: readonly InstalledReport[]): StoredBlock {
  const position = 9 as LogPosition;
  const bytes = encodeLogBlock({
    position,
    previousTimestamp: 99 as Timestamp,
    throughTimestamp: 99 as Timestamp,
    cursor: undefined,
    arrivalMs: 0,
    rejectedRecords: 0,
    maker: { number, installed },
    verdicts: [],
  });
  return { position, bytes };
}

test("I7: a block's report counts with the proof of the id, whoever made the block", () => {
  const reports = new InstallReports(systemDigest, []);
  reports.addBlocks([block(victim, [1, 1]), block(7 as MakerNumber, [2, 2])], nothing);
  expect([...reports.among([commit(1), commit(2), commit(3)])]).toEqual([1, 2]);
  expect(reports.takeForged()).toBe(0);
});

test("I7: a forged one counts nothing, under the victim's own number either", () => {
  const reports = new InstallReports(systemDigest, []);
  // Of one commit with a guess, of another with the proof of a third.
  reports.addBlocks([block(victim, [1, 8], [2, 3]), block(7 as MakerNumber, [1, 9])], nothing);
  expect(reports.among([commit(1), commit(2), commit(3)]).size).toBe(0);
  expect(reports.takeForged()).toBe(3);
  // Nor does it keep the true one from counting.
  reports.addBlocks([block(victim, [1, 1])], nothing);
  expect([...reports.among([commit(1)])]).toEqual([1]);
});

/** By vote: its id commits to what its vote has shown, in place of the proof. */
function voted(n: number): CommittedVerdict {
  const id = transactionIdFor(nothing, voteProofOf(proofOf(n), systemDigest), systemDigest);
  const payload = { kind: "prepared", position: 1 as LogPosition } as const;
  return { kind: "committed", id, timestamp: n as Timestamp, writes: [], payload, stamps: [] };
}

test("I7: of a commit by vote, what its vote has shown is no report", () => {
  const reports = new InstallReports(systemDigest, []);
  const shown = voteProofOf(proofOf(1), systemDigest);
  const report = { timestamp: 1 as Timestamp, proof: shown };
  reports.addBlocks([blockWith(7 as MakerNumber, [report])], nothing);
  expect(reports.among([voted(1)]).size).toBe(0);
  expect(reports.takeForged()).toBe(1);
  reports.addBlocks([block(victim, [1, 1])], nothing);
  expect([...reports.among([voted(1)])]).toEqual([1]);
});

test("one that was to be prepared, and committed without, is reported by what a vote shows", () => {
  const reports = new InstallReports(systemDigest, []);
  const { stamps: _, ...rest } = voted(1);
  const plain = { ...rest, payload: commit(1).payload };
  reports.addBlocks([block(victim, [1, 1])], nothing);
  expect(reports.among([plain]).size).toBe(0);
  const shown = voteProofOf(proofOf(1), systemDigest);
  const report = { timestamp: 1 as Timestamp, proof: shown };
  reports.addBlocks([blockWith(victim, [report])], nothing);
  expect([...reports.among([plain])]).toEqual([1]);
});

test("what does not decode says nothing, and takes nothing with it", () => {
  const reports = new InstallReports(systemDigest, []);
  const broken = { position: 9 as LogPosition, bytes: Uint8Array.of(0x54, 0x42, 1) };
  reports.addBlocks([broken, block(victim, [1, 1])], nothing);
  expect([...reports.among([commit(1)])]).toEqual([1]);
});

test("what lies below the watermark is forgotten, and not taken up", () => {
  const reports = new InstallReports(systemDigest, []);
  reports.addBlocks([block(victim, [1, 1], [2, 2])], nothing);
  reports.addBlocks([block(victim, [1, 1], [3, 3])], 1 as Timestamp);
  expect([...reports.among([commit(1), commit(2), commit(3)])]).toEqual([2, 3]);
});
