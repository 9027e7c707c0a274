/**
 * What the log's newest blocks have put and deleted, for whoever reads those items by key
 * (docs/protocol.md §5). A client's block brings its payloads along, and the tail holds them for as
 * long as they may not be installed. So whoever was beaten reads what has beaten it from memory,
 * and does not wait for the winner's installs.
 *
 * A payload says what its own commit has left of an item, and no more. Which commit that has to be,
 * the caller asks the tail; whether its value stands, the tail judges (core/visibility.ts, I8).
 */
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { StoredItem } from "../../core/ports.ts";
import type { TailCommit } from "../../core/tail.ts";
import type { CommittedVerdict, Payload } from "../../core/types.ts";
import { writeAt, writtenItem } from "../installing/payload-writes.ts";
import { payloadOf } from "../log/committed-payload.ts";
import type { ReadKey } from "../reading/read-key.ts";

export class BlockValues {
  /** The newest that were asked for, decoded; the one that was asked for last stands last. */
  readonly #payloads = new Map<CommittedVerdict, Payload | undefined>();
  #bytes = 0;

  /** Of all payloads that are kept, encoded. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The item as the commit has left it; undefined: it does not say, or wrote another item. */
  find({ verdict, write, timestamp }: TailCommit, { identity }: ReadKey): StoredItem | undefined {
    if (identity === undefined || verdict.payload.kind !== "inline") return undefined;
    // mutant: older-value-from-a-block
    const payload = this.#payloadOf(verdict, verdict.payload.bytes);
    // The hash may be another item's.
    if (payload === undefined || writtenItem(payload, write) !== identity) return undefined;
    const { item } = writeAt(payload, write).write;
    // probe: read-from-a-block
    return { item, version: timestamp, tombstone: item === undefined };
  }

  #payloadOf(verdict: CommittedVerdict, bytes: Uint8Array): Payload | undefined {
    const isKnown = this.#payloads.has(verdict);
    const payload = isKnown ? this.#payloads.get(verdict) : decoded(verdict, bytes);
    this.#payloads.delete(verdict);
    this.#payloads.set(verdict, payload);
    if (!isKnown) this.#bytes += bytes.length;
    this.#dropOldest();
    return payload;
  }

  #dropOldest(): void {
    for (const [verdict] of this.#payloads) {
      if (this.#bytes <= limits.blockValuesBytesMax) return;
      this.#payloads.delete(verdict);
      if (verdict.payload.kind === "inline") this.#bytes -= verdict.payload.bytes.length;
    }
  }
}

/** What is damaged is nobody's to read: replay says what becomes of it. */
function decoded(verdict: CommittedVerdict, bytes: Uint8Array): Payload | undefined {
  try {
    return payloadOf(verdict, bytes);
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}
