/**
 * From hashes back to names. A block names tables, partitions and keys by hashes under a secret of
 * the deployment. Registered tables are told by hashing their names; keys by reading the payload of
 * a commit that writes them, which lies in the block, in the stream or in the log's table.
 */
import { isDenied } from "./allowed.ts";
import { CorruptDataError, StoreError, TransactionError } from "../core/errors.ts";
import type {
  CommittedVerdict,
  Item,
  KeyHash,
  PreparedVerdict,
  TableDescription,
} from "../core/types.ts";
import { payloadOf } from "../engine/log/committed-payload.ts";
import { PayloadLoader } from "../engine/log/payload-loader.ts";
import type { Deployment, ShardLog } from "./deployment.ts";

/** One write as its payload has it. */
export type NamedWrite = {
  readonly table: string;
  readonly key: Item;
  /** Undefined: it deletes. */
  readonly item: Item | undefined;
  readonly hash: KeyHash;
};

/** `unreadable`: why the payload could not be had. */
export type Named =
  | {
      readonly kind: "named";
      readonly writes: readonly NamedWrite[];
      /** How often it was run in vain before. */
      readonly earlierAttempts: number;
    }
  | { readonly kind: "unreadable"; readonly because: string };

export class Names {
  readonly #deployment: Deployment;
  readonly #tables: ReadonlyMap<KeyHash, TableDescription>;
  readonly #loaders = new Map<ShardLog, PayloadLoader>();
  /** Asked once: rights do not change meanwhile. */
  #streamIsDenied = false;

  constructor(deployment: Deployment) {
    this.#deployment = deployment;
    const [log] = deployment.logs;
    const own = deployment.ports.control.idempotencyTable;
    this.#tables = new Map(
      [...deployment.registry.tables, own].flatMap((table) =>
        log === undefined ? [] : [[log.hashes.table(table.name), table] as const],
      ),
    );
  }

  /** Undefined: it is not registered, or not any more. */
  table(hash: KeyHash): TableDescription | undefined {
    return this.#tables.get(hash);
  }

  /** What a commit writes, or what is prepared. */
  async writes(log: ShardLog, verdict: CommittedVerdict | PreparedVerdict): Promise<Named> {
    if (verdict.writes.length === 0) return { kind: "named", writes: [], earlierAttempts: 0 };
    if (verdict.payload.kind === "stream" && this.#streamIsDenied) return denied;
    try {
      return { kind: "named", ...(await this.#read(log, verdict)) };
    } catch (error) {
      if (isDenied(error)) {
        this.#streamIsDenied ||= verdict.payload.kind === "stream";
        return denied;
      }
      const isTold = error instanceof TransactionError || error instanceof StoreError;
      if (!isTold) throw error;
      return { kind: "unreadable", because: error.message };
    }
  }

  async #read(
    log: ShardLog,
    verdict: CommittedVerdict | PreparedVerdict,
  ): Promise<{ readonly writes: readonly NamedWrite[]; readonly earlierAttempts: number }> {
    const { id, timestamp, writes, payload } = verdict;
    // Of what is prepared the payload lies where that of a commit would.
    const placed = verdict.kind === "prepared" ? { placed: timestamp } : {};
    const committed: CommittedVerdict =
      verdict.kind === "committed"
        ? verdict
        : { kind: "committed", id, timestamp, ...placed, writes, payload };
    const bytes = await this.#loader(log).loadBytes(committed);
    const { tables, writes: written, earlierAttempts = 0 } = payloadOf(committed, bytes);
    const named = written.map(({ table, key, item }, at) => {
      const name = tables[table]?.name;
      const hash = writes[at]?.key;
      if (name === undefined || hash === undefined) {
        throw new CorruptDataError(`the payload of ${id} does not fit its verdict`);
      }
      return { table: name, key, item, hash };
    });
    return { writes: named, earlierAttempts };
  }

  #loader(log: ShardLog): PayloadLoader {
    const known = this.#loaders.get(log);
    if (known !== undefined) return known;
    const loader = new PayloadLoader(this.#deployment.ports, {
      shard: log.shard,
      hashes: log.hashes,
    });
    this.#loaders.set(log, loader);
    return loader;
  }
}

const denied: Named = {
  kind: "unreadable",
  because: "no right to read the stream, in which the payload lies",
};
