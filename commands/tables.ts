/** Tables and their indexes as requests are checked against them, from what the registry says. */
import type { TableDescription } from "../core/types.ts";
import { typeOf } from "../expressions/attribute-values.ts";
import type { IndexSchema, KeyedTable, KeySchema } from "../expressions/key-schema.ts";
import type { KeyTest } from "../expressions/key-tests.ts";
import { invalid } from "../expressions/refusals.ts";
import { decodeIndexes, type DescribedIndex } from "../schemas/described-indexes.ts";

export class CommandTable implements KeyedTable {
  readonly name: string;
  readonly schema: KeySchema;
  readonly #indexes: ReadonlyMap<string, IndexSchema>;
  readonly #description: TableDescription;

  constructor(description: TableDescription) {
    const { name, partitionKey, sortKey, indexDescriptions } = description;
    this.name = name;
    this.schema = { partition: partitionKey, sort: sortKey };
    this.#description = description;
    const indexes = decodeIndexes(indexDescriptions).map(indexSchema);
    this.#indexes = new Map(indexes.map((index) => [index.name, index]));
  }

  indexSchemas(): Iterable<IndexSchema> {
    return this.#indexes.values();
  }

  /** Whether the registry says what the index is. */
  knows(index: IndexSchema): boolean {
    return this.#indexes.get(index.name) === index;
  }

  /**
   * What is known of an index. One that was made since the table was registered is taken by its
   * word: its key is what the query tests, and it projects everything; whether it is there at all
   * the store says.
   * @throws ServiceError where nothing shows what its key is.
   */
  index(name: string, tests: readonly KeyTest[] = []): IndexSchema {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    const { indexKeys = [] } = this.#description;
    const isPartition = (test: KeyTest): boolean =>
      indexKeys.some((key) => key.name === test.name && key.role === "partition");
    const equal = tests.filter(({ operator }) => operator === "=");
    const partition = equal.find(isPartition) ?? equal[0];
    const sort = tests.find((test) => test !== partition);
    const keys = [partition, sort].map(keyOfTest);
    if (keys[0] === undefined) {
      throw invalid(`The table does not have the specified index: ${name}`);
    }
    return {
      ...{ name, kind: "global", partition: keys[0], sort: keys[1] },
      projection: { type: "ALL", nonKeyAttributes: [] },
    };
  }
}

function keyOfTest(test: KeyTest | undefined): KeySchema["sort"] {
  const [value] = test?.values ?? [];
  const type = value === undefined ? undefined : typeOf(value);
  if (test === undefined || (type !== "S" && type !== "N" && type !== "B")) return undefined;
  return { name: test.name, type };
}

function indexSchema(index: DescribedIndex): IndexSchema {
  const { name, kind, partitionKey, sortKey, projection, nonKeyAttributes } = index;
  return {
    ...{ name, kind, partition: partitionKey, sort: sortKey },
    projection: { type: projection, nonKeyAttributes },
  };
}

const tables = new WeakMap<TableDescription, CommandTable>();

export function commandTable(description: TableDescription): CommandTable {
  const known = tables.get(description);
  if (known !== undefined) return known;
  const table = new CommandTable(description);
  tables.set(description, table);
  return table;
}
