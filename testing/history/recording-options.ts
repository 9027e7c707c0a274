/** How an engine is recorded (recording-engine.ts). */
import type { Item } from "../../core/types.ts";
import type { HistoryKind } from "./types.ts";

/** Of each item only the key attributes count. */
export type KeyOfTable = { readonly table: string; readonly key: Item };
/** Gone through whenever it is needed: it may grow. */
export type KeyUniverse = Iterable<KeyOfTable>;

export type RecordingOptions = {
  /** Unique within the run. */
  readonly process: string;
  /** Whether the deployment has several shards, or comes to have them. Default false. */
  readonly mayBeSharded?: boolean;
  /** Of the transactions that go through this engine. Default `txn`. */
  readonly kind?: HistoryKind;
  /** Tables whose rows are lists that grow: a put is recorded as an append. */
  readonly appendTables?: readonly string[];
  /**
   * All keys that a query or scan may ever find. With them, the keys that a finished pass over a
   * table did not return are recorded as reads of nothing, which makes phantoms visible. Queries of
   * an index record only what they found.
   */
  readonly universe?: KeyUniverse;
};
