/**
 * What is kept warm for a shard: its oracle, or what is done towards one, and buffers.
 *
 *     cold ──▶ rebuilding ──▶ level ──lost──▶ behind
 *      ▲                        ▲               │
 *      │                        └──caught up────┤
 *      └─────────────────────────too far────────┘
 *
 * Invariants: I1 (a draft that was not appended is undone), I9 (a rebuild goes on where it was).
 */
import { assert } from "../../core/assert.ts";
import { type Oracle } from "../../core/oracle.ts";
import { oracleBoundsDefault, type OracleBounds } from "../../core/oracle-bounds.ts";
import type {
  CallOptions,
  CommitLog,
  ControlStore,
  Digest,
  Random,
  StoredBlock,
} from "../../core/ports.ts";
import { wholeRange, type OwnRange } from "../../core/shard-map.ts";
import { slotSeedOf, slotSeedWords, type SlotSeed } from "../../core/slot-seed.ts";
import type { ShardId, ShardNumber } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { DraftEncoder } from "../../schemas/log-block-draft.ts";
import { catchUp } from "./catch-up.ts";
import type { KnownShards } from "./known-shards.ts";
import { DecodedBatch } from "./decoded-batch.ts";
import { Rebuild, rebuildBoundsDefault, type RebuildBounds } from "./rebuild.ts";

export type LaneParts = {
  readonly shard: ShardId;
  readonly log: Pick<CommitLog, "readBackward" | "readAfter">;
  readonly control: Pick<ControlStore, "readWatermark">;
  readonly hashes: KeyHashes;
  /** Of the hashes that are its own. */
  readonly range?: OwnRange;
  /** That its requests may name. */
  readonly shards: KnownShards;
  readonly digest: Digest;
  readonly random: Pick<Random, "bytes">;
  readonly bounds?: OracleBounds;
  readonly rebuildBounds?: RebuildBounds;
};

type Standing =
  | { readonly kind: "cold" }
  | { readonly kind: "rebuilding"; readonly rebuild: Rebuild }
  /** Where the log ends, as far as it is known; with a draft, one block ahead of it. */
  | { readonly kind: "level"; readonly oracle: Oracle }
  /** Others have gone on, or may have: with the block that has refused its put, if it is known. */
  | { readonly kind: "behind"; readonly oracle: Oracle; readonly found: StoredBlock | undefined };

export class Lane {
  readonly decoded: DecodedBatch;
  readonly encoder: DraftEncoder;
  readonly number: ShardNumber;
  readonly shards: KnownShards;
  readonly #parts: LaneParts;
  /** Of its tables in memory. */
  readonly #seed: SlotSeed;
  #standing: Standing = { kind: "cold" };
  /** In this invocation the log has gone on without it. */
  #othersAppend = false;

  constructor(parts: LaneParts) {
    const { hashes, digest, random } = parts;
    this.#parts = parts;
    this.number = hashes.shard;
    this.shards = parts.shards;
    this.#seed = slotSeedOf(random.bytes(4 * slotSeedWords));
    this.decoded = new DecodedBatch(hashes, digest, this.#seed);
    this.encoder = new DraftEncoder(hashes.fingerprint);
  }

  /** Whether it was begun for a shard that had been joined to another one. */
  get hasNoRange(): boolean {
    return this.#parts.range?.to === 0;
  }

  /** The oracle, when it can certify; else `advance` is called until it can. */
  get oracle(): Oracle | undefined {
    return this.#standing.kind === "level" ? this.#standing.oracle : undefined;
  }

  /** How far it has come: any oracle is worth more than what is done towards one. */
  get reached(): number {
    switch (this.#standing.kind) {
      case "cold":
        return -1;
      case "rebuilding":
        return 0;
      case "level":
      case "behind":
        return 1 + this.#standing.oracle.position;
    }
  }

  /** An invocation begins: others may have appended since the one before. */
  resume(): void {
    assert(this.oracle?.hasDraft !== true, "I1: no draft outlives its invocation");
    const { oracle } = this;
    // mutant: oracle-begins-where-it-was
    if (oracle !== undefined && this.#othersAppend) {
      // Its first put would only find out what a look at the log says in the same time.
      // probe: oracle-begins-behind-others
      this.#standing = { kind: "behind", oracle, found: undefined };
    }
    this.#othersAppend = false;
    if (this.#standing.kind !== "rebuilding") return;
    // mutant: forgets-its-rebuild
    this.#standing.rebuild.resume();
  }

  /** The put of the draft is refused, or its answer lost. @param found the block in its place. */
  lost(found: StoredBlock | undefined): void {
    const { oracle } = this;
    assert(oracle !== undefined, "oracle: only one that is level makes a draft");
    oracle.undo();
    this.#standing = { kind: "behind", oracle, found };
  }

  /** The log may go on where nothing was put. */
  lookOn(): void {
    const { oracle } = this;
    assert(oracle?.hasDraft === false, "I1: who looks on has put nothing");
    this.#standing = { kind: "behind", oracle, found: undefined };
  }

  /**
   * One step towards an oracle that is level. What a step that throws was to do, the next one does.
   * Gives a rebuild that has come to its end.
   * @throws StoreError when a store does not answer.
   * @throws FrameError when the log holds what is no block, or one of another hash secret.
   */
  async advance(call: CallOptions): Promise<Rebuild | undefined> {
    const standing = this.#standing;
    switch (standing.kind) {
      case "level":
        return undefined;
      case "cold":
        this.#standing = { kind: "rebuilding", rebuild: this.#newRebuild() };
        return undefined;
      case "rebuilding": {
        const oracle = await standing.rebuild.step(call);
        if (oracle === undefined) return undefined;
        this.#standing = { kind: "level", oracle };
        return standing.rebuild;
      }
      case "behind": {
        const { oracle, found } = standing;
        const { position } = oracle;
        const isLevel = await catchUp(oracle, { ...this.#parts, found }, call);
        if (oracle.position > position) this.#othersAppend = true;
        this.#standing = isLevel ? { kind: "level", oracle } : { kind: "cold" };
        return undefined;
      }
    }
  }

  #newRebuild(): Rebuild {
    const { bounds, rebuildBounds } = this.#parts;
    return new Rebuild({
      ...this.#parts,
      seed: this.#seed,
      range: this.#parts.range ?? wholeRange,
      oracleBounds: bounds ?? oracleBoundsDefault,
      bounds: rebuildBounds ?? rebuildBoundsDefault,
    });
  }
}
