/**
 * The payloads of a batch that its requests only refer to. They are read before certification, a
 * group at a time (few requests spill, but each may hold 16 MiB), and scanned into a batch of their
 * own.
 *
 * A request costs no bytes, and what it refers to may be 16 MiB: so nothing is read for a request
 * that is refused without it, and nothing twice for one transaction.
 *
 * Whatever is wrong with a payload's content makes its request abort. A store that does not answer
 * says nothing about content: that is thrown.
 */
import { FrameError } from "../../core/errors.ts";
import type { SpilledPayload } from "../../core/block-draft.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, CommitLog, Digest } from "../../core/ports.ts";
import { columnCode, RequestBatch } from "../../core/request-batch.ts";
import type { SlotSeed } from "../../core/slot-seed.ts";
import type { TransactionId } from "../../core/types.ts";
import type { SpilledReference } from "../../schemas/commit-record-scan.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { PayloadScanner } from "../../schemas/payload-scan.ts";
import type { Admission } from "../../schemas/table-catalogue.ts";
import { joinSpilledChunks } from "../../schemas/spill.ts";

export type ReadSpilled = (
  id: TransactionId,
  chunks: number,
  options: CallOptions,
) => ReturnType<CommitLog["readSpilled"]>;

/** What the oracle that certifies next has to know. */
export type SpilledNeeds = {
  /** Requests below it are decided. */
  readonly from: number;
  readonly checkedTo: (request: number) => number;
  /** Whether the oracle refuses it whatever its payload says. */
  readonly isRefused: (request: number) => boolean;
};

type Reference = SpilledReference & { readonly admission: Admission | undefined };

export class SpilledPayloads {
  readonly writes = new RequestBatch();
  readonly byRequest = new Map<number, SpilledPayload>();
  readonly #references: Reference[] = [];
  readonly #scanner: PayloadScanner;
  readonly #digest: Digest;
  /** The group is `[#from, #to)` of the references. */
  #from = 0;
  #to = 0;

  constructor(hashes: KeyHashes, digest: Digest, seed: SlotSeed) {
    this.#digest = digest;
    this.#scanner = new PayloadScanner(hashes, seed);
  }

  clear(): void {
    this.#references.length = 0;
    this.#from = 0;
    this.#to = 0;
    this.#forget();
  }

  /** @param admission what their payloads are held against. */
  add(references: readonly SpilledReference[], admission: Admission | undefined): void {
    for (const reference of references) this.#references.push({ ...reference, admission });
  }

  /** First request that needs a payload of a later group; undefined: none does. */
  get heldBelow(): number | undefined {
    return this.#references[this.#to]?.request;
  }

  /** Whether one that was read names tables that the registry does not. */
  get hasTableFaults(): boolean {
    return this.writes.tableFaultCount > 0;
  }

  /** Whether another group follows; then it is the one to read. */
  nextGroup(): boolean {
    if (this.#to === this.#references.length) return false;
    this.#forget();
    this.#from = this.#to;
    const held = new Set<TransactionId>();
    let bytes = 0;
    for (const { id, byteLength } of this.#references.slice(this.#from)) {
      if (!held.has(id)) {
        bytes += byteLength;
        const isFull = held.size >= limits.spilledHeldMax || bytes > limits.spilledHeldBytesMax;
        if (held.size > 0 && isFull) break;
        held.add(id);
      }
      this.#to += 1;
    }
    return true;
  }

  /**
   * Reads what of the group is missing and needed. May be called again after a failure, and by an
   * oracle that has come further.
   * @throws StoreError.
   */
  async read(needs: SpilledNeeds, readSpilled: ReadSpilled, signal?: AbortSignal): Promise<void> {
    const missing = this.#missing(needs);
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let reference = missing[next++]; reference !== undefined; reference = missing[next++]) {
        const { id, chunks } = reference;
        const options = signal === undefined ? {} : { signal };
        this.#take(reference, await readSpilled(id, chunks, options));
      }
    };
    const workers = Math.min(missing.length, limits.spilledReadsMax);
    // All have ended before a failure is told, so that none adds to a later batch.
    const ends = await Promise.allSettled(Array.from({ length: workers }, worker));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    this.#shareWithCopies(needs);
  }

  /**
   * Of each transaction the first request that may be certified. Those behind it are copies, which
   * are duplicates once it is decided.
   */
  #missing({ from, isRefused }: SpilledNeeds): readonly Reference[] {
    const ids = new Set<TransactionId>();
    const missing: Reference[] = [];
    for (const reference of this.#references.slice(this.#from, this.#to)) {
      const { id, request } = reference;
      if (request < from || ids.has(id)) continue;
      const known = this.byRequest.get(request);
      if (known !== undefined && known.kind !== "unread") ids.add(id);
      else if (isRefused(request)) {
        this.byRequest.set(request, unread);
      } else {
        ids.add(id);
        missing.push(reference);
      }
    }
    return missing;
  }

  /**
   * A copy that is checked to more may be certified where the first one is stale. One that refers
   * to another payload is no client's.
   */
  #shareWithCopies({ from, checkedTo }: SpilledNeeds): void {
    const firsts = new Map<TransactionId, Reference>();
    for (const reference of this.#references.slice(this.#from, this.#to)) {
      const { id, request } = reference;
      if (request < from || this.byRequest.get(request) === unread) continue;
      const first = firsts.get(id);
      if (first === undefined) {
        firsts.set(id, reference);
        continue;
      }
      const mayFollow =
        checkedTo(request) > checkedTo(first.request) && isSamePayload(reference, first);
      const payload = mayFollow ? this.byRequest.get(first.request) : undefined;
      this.byRequest.set(request, payload ?? unread);
    }
  }

  #take(reference: Reference, chunks: readonly Uint8Array[] | undefined): void {
    this.byRequest.set(
      reference.request,
      chunks === undefined ? { kind: "unreadable" } : this.#scan(reference, chunks),
    );
  }

  #scan(reference: Reference, chunks: readonly Uint8Array[]): SpilledPayload {
    const batch = this.writes;
    const writesOf = batch.count;
    try {
      const source = joinSpilledChunks(chunks, reference, this.#digest);
      batch.begin({
        kind: reference.isVotedOn ? columnCode.prepare : 0,
        isolation: 0,
        payload: 2,
        id0: 0,
        id1: 0,
        id2: 0,
        id3: 0,
        checkedTo: 0,
        record: 0,
        indexInRecord: 0,
        source,
      });
      this.#scanner.scan(source, batch, reference.admission);
      batch.end();
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      batch.rollback(writesOf);
      return { kind: error.fault === "oversized" ? "too-large" : "unreadable" };
    }
    const { byteLength, digest } = reference;
    return { kind: "read", writesOf, chunks: chunks.length, byteLength, digest };
  }

  #forget(): void {
    this.writes.clear();
    this.byRequest.clear();
  }
}

const unread: SpilledPayload = { kind: "unread" };

function isSamePayload(a: SpilledReference, b: SpilledReference): boolean {
  return a.byteLength === b.byteLength && a.digest.every((byte, index) => byte === b.digest[index]);
}
