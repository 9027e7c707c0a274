/** What a process keeps of others' payloads, decoded (engine/express/block-values.ts). */
import { expect, test } from "vitest";
import { keyNamesOf } from "../../../core/attributes.ts";
import * as limits from "../../../core/limits.ts";
import type { TailCommit } from "../../../core/tail.ts";
import type { CommittedVerdict, Timestamp } from "../../../core/types.ts";
import { BlockValues } from "../../../engine/express/block-values.ts";
import type { ReadKey } from "../../../engine/reading/read-key.ts";
import { itemIdentity } from "../../../engine/attempts/write-buffer.ts";
import { encodePayload } from "../../../schemas/payload.ts";
import { sampleHashes } from "../../../testing/sample-hashes.ts";
import { idOf } from "../memory-log.ts";

const table = {
  name: "t",
  partitionKey: { name: "id", type: "S" },
  history: false,
  access: "transactional",
} as const;

/** A block's commit of one item of so many bytes. */
function commitOf(n: number, textBytes: number): { commit: TailCommit; key: ReadKey } {
  const key = { id: { S: n.toString() } };
  const hashes = sampleHashes.item(keyNamesOf(table), key);
  const bytes = encodePayload({
    tables: [{ name: "t", partitionKey: "id", history: false }],
    writes: [{ table: 0, key, item: { ...key, text: { S: "x".repeat(textBytes) } } }],
  });
  const timestamp = (1_000 + n) as Timestamp;
  const verdict: CommittedVerdict = {
    kind: "committed",
    id: idOf(n),
    timestamp,
    payload: { kind: "inline", bytes },
    writes: [hashes],
  };
  const identity = itemIdentity(table, key);
  return { commit: { timestamp, verdict, write: 0 }, key: { table, key, hashes, identity } };
}

test("payloads are kept up to a budget, and each is read whether it is kept or not", () => {
  const values = new BlockValues();
  const textBytes = 300_000;
  const commits = Array.from({ length: 40 }, (_, n) => commitOf(n, textBytes));
  for (const { commit, key } of [...commits, ...commits]) {
    expect(values.find(commit, key)).toMatchObject({ version: commit.timestamp, item: key.key });
    expect(values.bytes).toBeLessThanOrEqual(limits.blockValuesBytesMax);
  }
  expect(values.bytes).toBeGreaterThan(limits.blockValuesBytesMax - 2 * textBytes);
});

test("what the payload does not say of the item, it does not say", () => {
  const values = new BlockValues();
  const [one, other] = [commitOf(1, 10), commitOf(2, 10)];
  expect(values.find(one.commit, other.key)).toBeUndefined();
  const damaged = { kind: "inline", bytes: Uint8Array.of(1, 2, 3) } as const;
  const verdict = { ...one.commit.verdict, payload: damaged };
  expect(values.find({ ...one.commit, verdict }, one.key)).toBeUndefined();
});
