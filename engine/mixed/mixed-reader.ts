/**
 * One attempt's reads of mixed tables (docs/adr/0014-native-operations.md, Readers): each is one
 * consistent call, and no look at the log, unless a fence stands there. The values that a body sees
 * may belong to different moments; the end makes sure of them, also before an error of the body is
 * let out.
 */
import { keyNamesOf } from "../../core/attributes.ts";
import { sameContent } from "../../core/item-content.ts";
import * as limits from "../../core/limits.ts";
import type { ItemAddress } from "../../core/mixed-items-port.ts";
import type {
  CallOptions,
  ClientPorts,
  Digest,
  QueryRequest,
  ScanRequest,
} from "../../core/ports.ts";
import type { Item, KeyHash, TableDescription } from "../../core/types.ts";
import type { AttemptView, MixedReads, MixedRows, SharedView } from "../mixed-way.ts";
import type { MixedPageRequest, MixedState } from "../attempts/remembered-state.ts";
import type { ReadKey } from "../reading/read-key.ts";
import type { ShardSession } from "../shard-session.ts";
import { itemIdentity } from "../attempts/write-buffer.ts";
import { endReading, endReadingInShards } from "./end-reading.ts";
import type { MixedItems } from "./mixed-items.ts";
import { pageSource } from "./mixed-pages.ts";
import { MixedReadSet, type SeenKey } from "./mixed-read-set.ts";
import { mixedStateOf } from "./mixed-state.ts";
import { nativeConflict } from "./native-conflict.ts";
import { changedRead } from "./read-again.ts";
import { DigestedReads, type RememberedReads } from "./remembered-reads.ts";
import { readRows } from "./rows.ts";
import type { SeenItem } from "./seen-item.ts";

export type MixedParts = {
  readonly items: MixedItems;
  readonly ports: ClientPorts;
  readonly session: ShardSession;
};

export class MixedReader implements MixedReads {
  readonly set = new MixedReadSet();
  readonly #parts: MixedParts;
  readonly #view: AttemptView;
  #remembered: RememberedReads | undefined;

  constructor(parts: MixedParts, view: AttemptView) {
    this.#parts = parts;
    this.#view = view;
  }

  get size(): number {
    return this.set.size + (this.#remembered?.size ?? 0);
  }

  get remembered(): RememberedReads | undefined {
    return this.#remembered;
  }

  remember(state: MixedState, describe: (table: string) => TableDescription): void {
    const { items, ports, session } = this.#parts;
    const parts = { items, ports, hashes: session.hashes };
    this.#remembered = new DigestedReads(parts, state, describe);
  }

  state(digest: Digest): MixedState | undefined {
    return mixedStateOf({ set: this.set, remembered: this.#remembered }, digest);
  }

  async get(key: ReadKey): Promise<Item | undefined> {
    this.#view.assertOpen();
    const at = addressOf(key);
    return this.#see(key, await this.#parts.items.read(at, this.#view.call));
  }

  async batchGet(
    keys: readonly ReadKey[],
    { joins }: { readonly joins: boolean },
  ): Promise<readonly (Item | undefined)[]> {
    this.#view.assertOpen();
    const { items, ports } = this.#parts;
    const { call } = this.#view;
    const addresses = keys.map(addressOf);
    const stored = await ports.mixed.readAll(addresses, call);
    return Promise.all(
      keys.map(async (key, i) => {
        const seen = await items.readBehind(addressOf(key), stored[i], call);
        return joins ? this.#see(key, seen) : seen.content;
      }),
    );
  }

  /** Joins the read set, as the commit will fence or compare it. */
  #see(key: ReadKey, seen: SeenItem): Item | undefined {
    this.#view.assertOpen();
    const identity = key.identity ?? itemIdentity(key.table, key.key);
    const before = this.set.keys.get(identity);
    const isSame = before === undefined || sameContent(before.seen.content, seen.content);
    // Two reads at once, or in two calls, and a write between them.
    if (!isSame || this.#remembered?.isAsRead(identity, seen.content) === false) {
      throw this.#view.doom(nativeConflict({ table: key.table.name, key: key.key }));
    }
    const now: SeenKey = { at: addressOf(key), hash: key.hashes.key, seen };
    this.set.keys.set(identity, now);
    return seen.content;
  }

  queryPage(request: Omit<QueryRequest, "index">): Promise<MixedRows> {
    return this.#page({ kind: "query", ...request });
  }

  scanPage(request: ScanRequest): Promise<MixedRows> {
    return this.#page({ kind: "scan", ...request });
  }

  /**
   * A page ends with its last row, not with a placeholder behind that: where it ends can be told
   * again when the placeholder is gone.
   */
  async #page(request: MixedPageRequest): Promise<MixedRows> {
    this.#view.assertOpen();
    const source = pageSource(this.#parts.ports, this.#view.hashes, request);
    const { limit: wanted } = request;
    let { limit, startKey } = request;
    for (;;) {
      const from = { startKey, limit };
      const { rows: found, lastKey } = await readRows(this.#parts, source, from, this.#view.call);
      this.#view.assertOpen();
      if (found.length === 0 && lastKey !== undefined) {
        startKey = lastKey;
        // A crowd of placeholders costs few calls.
        limit &&= Math.min(2 * limit, limits.rowsBehindHiddenMax);
        continue;
      }
      const rows = found.slice(0, wanted);
      const isLast = lastKey === undefined && rows.length === found.length;
      this.set.addPage({ source, rows, isLast });
      const last = rows.at(-1);
      return {
        rows: rows.map(({ key, content }) => ({ key, item: content })),
        lastKey: isLast || last === undefined ? undefined : last.key,
      };
    }
  }

  /** Reads again what was read in calls before, from which on it is as if read in this one. */
  async recall(options: CallOptions): Promise<void> {
    if (this.#remembered === undefined) return;
    const changed = await this.#remembered.recall(this.set, options);
    this.#view.assertOpen();
    if (changed !== undefined) throw this.#view.doom(nativeConflict(changed));
  }

  async end(): Promise<void> {
    await this.recall(this.#view.call);
    await endReading(this.#parts, this.#view, this.set);
  }

  async endInShards(views: readonly SharedView[]): Promise<void> {
    await endReadingInShards(views);
  }

  get hashes(): readonly KeyHash[] {
    return this.set.checks().map(([hash]) => hash);
  }

  async compare(): Promise<void> {
    await this.recall(this.#view.call);
    // mutant: read-only-unchecked
    const changed = await changedRead(this.#parts.items, this.set, this.#view.call);
    if (changed !== undefined) throw this.#view.doom(nativeConflict(changed));
  }

  noteScanned({ name }: TableDescription): void {
    const hash = this.#view.hashes.table(name);
    this.set.addPredicate(hash, { table: name, on: "table", key: undefined });
  }
}

export function addressOf({ table, key }: Pick<ReadKey, "table" | "key">): ItemAddress {
  return { table: keyNamesOf(table), key };
}
