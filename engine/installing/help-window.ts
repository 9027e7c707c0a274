/**
 * Until when a reader that helps may sign installs, and which commits need none any more
 * (docs/protocol.md §7, Deletes).
 *
 * Of a log that begins behind a fork, what stands in its past the other shard's replay installs,
 * and that one's reaper takes its tombstones away. The log's own watermark stays where it is until
 * that is done, for hours if one of the two stands still. So it alone does not say what may have
 * been reaped: of what stands at or below the fork, the other shard's watermark says so as well.
 *
 *     the other log    x put ── x deleted ── its watermark ── fork        x's tombstone may be gone
 *     this log's       └ its watermark is here still
 *
 * What was open at the fork has its verdict behind it, in each of the two logs: of that the other
 * shard installs only what lies in its own range, and this log's watermark alone counts.
 */
import { CorruptDataError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { placeOf } from "../../core/decision.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { Lineage, ShardId, Timestamp } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { TailFollower } from "../log/tail-follower.ts";
import { decodeBlock } from "../log/stored-block.ts";

type Placed = Parameters<typeof placeOf>[0];

export type HelpWindow = {
  /** Wall clock, milliseconds. */
  readonly signBeforeMs: number;
  /** Whether somebody has installed the commit: then nothing of it may be put any more. */
  readonly isInstalled: (commit: Placed) => boolean;
};

/** A log that this one goes on: its name, and where its last block before the fork ends. */
type Past = { readonly shard: ShardId; readonly end: Timestamp };

type Session = {
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
  readonly follower: Pick<TailFollower, "readWatermark">;
};

export class HelpWindows {
  readonly #ports: Pick<ClientPorts, "clock" | "control" | "log">;
  readonly #session: Session;
  /** Neither names nor ends of logs ever change. */
  #pasts: Promise<readonly Past[]> | undefined;

  constructor(ports: Pick<ClientPorts, "clock" | "control" | "log">, session: Session) {
    this.#ports = ports;
    this.#session = session;
  }

  /**
   * The time to sign begins before the watermarks are read: whatever they have not passed then, no
   * reaper has removed a tombstone of.
   * @throws StoreError, CorruptDataError; UnavailableError where the fork's block has expired.
   */
  async open(): Promise<HelpWindow> {
    const { clock, control } = this.#ports;
    const { hashes, follower } = this.#session;
    const signBeforeMs = clock.nowMs() + limits.installSignMsMax;
    const own = await follower.readWatermark();
    const lastFork = hashes.past.at(-1)?.through ?? 0;
    // The log's replay goes on only where all of the past is installed.
    const pasts = own.position < lastFork ? await this.#pastsOnce() : [];
    const installed = await Promise.all(
      pasts.map(async ({ shard, end }) => {
        const watermark = await control.readWatermark(shard);
        return { end, through: watermark?.timestamp ?? (0 as Timestamp) };
      }),
    );
    const all = [{ end: Infinity, through: own.timestamp }, ...installed];
    const isInstalled = (commit: Placed): boolean =>
      all.some(({ end, through }) => placeOf(commit) <= end && commit.timestamp <= through);
    return { signBeforeMs, isInstalled };
  }

  #pastsOnce(): Promise<readonly Past[]> {
    const { past } = this.#session.hashes;
    this.#pasts ??= this.#readPasts(past).catch((error: unknown) => {
      this.#pasts = undefined;
      throw error;
    });
    return this.#pasts;
  }

  async #readPasts(lineage: Lineage): Promise<readonly Past[]> {
    const { shard: own, hashes } = this.#session;
    const { control, log } = this.#ports;
    const map = await control.shardMap();
    return Promise.all(
      lineage.map(async ({ shard, through }) => {
        const entry = map?.get(shard);
        if (entry === undefined) {
          throw new CorruptDataError(
            `shard ${hashes.shard} was split off shard ${shard}, which the control table does ` +
              "not list; was an entry taken away?",
          );
        }
        const fork = await log.readAt(own, through);
        if (fork === undefined) {
          throw new UnavailableError(
            `the fork of shard ${hashes.shard} at block ${through} has expired, and its replay ` +
              "has not come to it",
          );
        }
        return { shard: entry.id, end: decodeBlock(fork, hashes).throughTimestamp };
      }),
    );
  }
}
