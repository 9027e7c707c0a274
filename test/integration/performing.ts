/** Runs transactions so that the checker can judge them: who read and wrote what, and the log. */
import { keyNamesOf } from "../../core/attributes.ts";
import type { Isolation, Item, LogBlock, LogPosition, TableDescription } from "../../core/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import type { Engine, EngineTransaction, Reader } from "../../engine/types.ts";
import type { LocalStores } from "../harness/local-stores.ts";
import type { KeyOf, Performed, Sample } from "./checker.ts";
import { queryRows, text } from "./support.ts";

/** What a step reads and writes through, so that it is remembered. */
class Recorder {
  readonly reads: Performed["reads"][number][] = [];
  readonly queries: Performed["queries"][number][] = [];
  readonly writes = new Map<string, Performed["writes"][number]>();
  readonly #reader: Reader;
  readonly #writer: EngineTransaction | undefined;

  constructor(reader: Reader, writer?: EngineTransaction) {
    this.#reader = reader;
    this.#writer = writer;
  }

  async get(table: TableDescription, of: Item): Promise<Item | undefined> {
    const item = await this.#reader.get(table.name, of);
    this.reads.push({ table, key: of, item });
    return item;
  }

  async query(table: TableDescription, partition: string): Promise<readonly Item[]> {
    const rows = await queryRows(this.#reader, table, { partitionKey: text(partition) }, 2);
    this.queries.push({ table, partition: text(partition), rows });
    return rows;
  }

  put(table: TableDescription, item: Item): void {
    this.#writer?.put(table.name, item);
    const of = "sk" in item ? { pk: item["pk"], sk: item["sk"] } : { pk: item["pk"] };
    this.#note(table, of as Item, item);
  }

  delete(table: TableDescription, of: Item): void {
    this.#writer?.delete(table.name, of);
    this.#note(table, of, undefined);
  }

  #note(table: TableDescription, of: Item, item: Item | undefined): void {
    this.writes.set(`${table.name} ${textKey(of)}`, { table, key: of, item });
  }
}

export async function perform(
  engine: Engine,
  isolation: Isolation,
  body: (recorder: Recorder) => Promise<void>,
): Promise<Performed> {
  const { result, receipt } = await engine.transact({ isolation, attemptsMax: 500 }, async (tx) => {
    const recorder = new Recorder(tx, tx);
    await body(recorder);
    return recorder;
  });
  return {
    id: receipt.transactionId,
    isolation,
    readTimestamp: receipt.readTimestamp,
    reads: result.reads,
    queries: result.queries,
    writes: [...result.writes.values()],
  };
}

export async function look(
  engine: Engine,
  body: (recorder: Recorder) => Promise<void>,
): Promise<Performed> {
  const { result, receipt } = await engine.snapshot({ attemptsMax: 500 }, async (snapshot) => {
    const recorder = new Recorder(snapshot);
    await body(recorder);
    return recorder;
  });
  return {
    id: undefined,
    isolation: "snapshot",
    readTimestamp: receipt.readTimestamp,
    reads: result.reads,
    queries: result.queries,
    writes: [],
  };
}

export function textKey(of: Item): string {
  return JSON.stringify(of);
}

/** The watermark, and what the store holds of `all` right after. */
export async function sample(stores: LocalStores, all: readonly KeyOf[]): Promise<Sample> {
  const { ports, shard, hashes } = stores;
  const watermark = await ports.control.readWatermark(shard);
  const versions = await ports.items.versions(
    all.map(({ table, key: of }) => ({ table: table.name, key: of })),
    { consistency: "strong" },
  );
  return {
    watermark: watermark?.timestamp ?? 0,
    versions: new Map(
      all.map(({ table, key: of }, i) => [
        hashes.item(keyNamesOf(table), of).key,
        versions[i] ?? 0,
      ]),
    ),
  };
}

export async function readLog({ ports, shard, hashes }: LocalStores): Promise<LogBlock[]> {
  const blocks: LogBlock[] = [];
  for (;;) {
    const page = await ports.log.readAfter(shard, (blocks.at(-1)?.position ?? 0) as LogPosition);
    blocks.push(...page.blocks.map((each) => decodeBlock(each, hashes)));
    if (page.complete) return blocks;
  }
}
