/**
 * How an actor of a recorded run writes down its native operations: plain DynamoDB calls on one
 * item, beside transactions. One record per call that reaches the network, so:
 *
 * - The retries of the AWS SDK are off, and each try of the actor's own is a record of its own with
 *   a version of its own. A write that was tried twice may have taken effect twice, the second
 *   time over somebody else's.
 * - `version` goes into the item as the attribute `_h` (`historyAttribute`): into that of a put, as
 *   `SET #h = :version` of an update. An update that leaves `_h` alone is taken for no write.
 * - BatchWriteItem, BatchGetItem, Query and Scan are one record per item. They share their times.
 *
 *     const record = beginNative(recorder, { process: "native-1", key, writes: "w" });
 *     try {
 *       const { Attributes } = await send(put(item, record.version)); // ReturnValues: ALL_OLD
 *       record.answered({ found: historyVersion(Attributes) }); // Nothing, if nobody asked.
 *     } catch (error) {
 *       if (isConditionFailed(error)) record.refused({ found: historyVersion(error.Item) });
 *       else if (surelyDidNothing(error)) record.forget(); // Throttled, invalid.
 *       else record.unknown(); // Timed out, 5xx.
 *     }
 *
 * A refusal by a condition that the actor has not set is a fault in itself (I10: no transaction
 * aborts a native write), and for the actor to throw: the checker cannot tell it from others.
 * When the process dies, `recorder.abandon(process)` makes unknown what it had under way.
 */
import { assert } from "../../core/assert.ts";
import type { AttemptRecord, HistoryRecorder } from "./recorder.ts";

export type NativeCall = {
  readonly process: string;
  /** As `historyKey` spells it. */
  readonly key: string;
  /** What it does to the item: a put or an update (`w`), a delete, an append. Default: nothing. */
  readonly writes?: "w" | "d" | "a";
  /** False for an eventually consistent read, which may show an older state. Default true. */
  readonly consistent?: boolean;
};

/** What an answer tells of what was there before. Nothing, if it is empty. */
export type NativeAnswer = {
  /** The version that it showed; null: that there was no item. */
  readonly found?: string | null | undefined;
  /** That an item was shown that nobody had recorded: without a version in it. */
  readonly foundItem?: true;
  /** Any other state than this version, null: any item; as a condition says that shows nothing. */
  readonly foundOther?: string | null;
};

/** To be called right before the call is sent. */
export function beginNative(recorder: HistoryRecorder, call: NativeCall): NativeRecord {
  return new NativeRecord(recorder, call);
}

class NativeRecord {
  /** What the write shall be called. */
  readonly version: string;
  readonly #call: NativeCall;
  readonly #recorder: HistoryRecorder;
  readonly #attempt: AttemptRecord;
  readonly #found: ReturnType<AttemptRecord["reserve"]>;

  constructor(recorder: HistoryRecorder, call: NativeCall) {
    const { process, consistent = true } = call;
    assert(consistent || call.writes === undefined, "history: writes are consistent");
    this.#call = call;
    this.#recorder = recorder;
    const fixed = { kind: "native", isolation: "serializable" } as const;
    const startNs = recorder.nowNs();
    this.#attempt = recorder.begin({ process, startNs, strict: consistent, ...fixed });
    this.version = this.#attempt.nextVersion();
    this.#found = this.#attempt.reserve();
    if (call.writes === undefined) return;
    this.#attempt.push([call.writes, call.key, this.version]);
    // From here on it may take effect at any time.
    this.#attempt.bodyEnded();
  }

  /** It took effect. */
  answered(answer: NativeAnswer = {}): void {
    this.#note(answer);
    this.#attempt.answered();
  }

  /** Its own condition was false: it has looked, and written nothing. */
  refused(answer: NativeAnswer): void {
    this.#attempt.forgetWrites();
    this.answered(answer);
  }

  /** Nobody knows whether it took effect, or when it will: no answer, or one of no meaning. */
  unknown(): void {
    if (this.#call.writes === undefined) this.forget();
    else this.#attempt.unknown(undefined);
  }

  /** It certainly took no effect, and told nothing. */
  forget(): void {
    this.#attempt.abort();
  }

  #note({ found, foundItem, foundOther }: NativeAnswer): void {
    const { key, process } = this.#call;
    if (found !== undefined) this.#found(["r", key, found]);
    else if (foundItem === true) {
      this.#found(["r", key, this.#recorder.initialVersion(key, process)]);
    } else if (foundOther !== undefined) this.#found(["x", key, foundOther]);
  }
}
