/**
 * DynamoDB in memory: the documented behaviour at the level of operation name and command input,
 * synchronous and deterministic. Time comes from outside; what may go wrong is asked for with each
 * call, by whoever simulates a service. Inputs are taken over and outputs share structure with the
 * store: neither may be changed afterwards.
 */
import type { Item } from "../../../core/types.ts";
import { NotModelledError } from "../not-modelled.ts";
import { BatchRead, batchWriteItem } from "./batch-operations.ts";
import { Database } from "./database.ts";
import { deleteItem, getItem, putItem, updateItem } from "./item-operations.ts";
import type {
  CallConditions,
  OperationName,
  Operations,
  SteppedOperation,
} from "./operation-types.ts";
import { planQuery, planScan } from "./page-plans.ts";
import { PageRead, type SteppedRead } from "./page-reads.ts";
import {
  createTable,
  deleteTable,
  describeTable,
  describeTimeToLive,
  listTables,
  updateTimeToLive,
} from "./table-operations.ts";
import type { ItemChange } from "./table.ts";
import { transactGetItems, TransactionTokens, transactWriteItems } from "./transactions.ts";

export type DynamoDbModelOptions = {
  /** Milliseconds since the epoch; must not fall. */
  readonly nowMs: () => number;
  /** How far back `staleMs` may reach. Default 10,000. */
  readonly staleMsMax?: number;
};

const staleMsMaxDefault = 10_000;

/** How each operation is served. */
type Handlers = {
  readonly [Name in OperationName]: (
    input: Operations[Name]["input"],
    conditions: CallConditions,
  ) => Operations[Name]["output"];
};

export class DynamoDbModel {
  readonly #database: Database;
  readonly #handlers: Handlers;

  constructor(options: DynamoDbModelOptions) {
    const database = new Database({
      nowMs: options.nowMs,
      staleMsMax: options.staleMsMax ?? staleMsMaxDefault,
    });
    const tokens = new TransactionTokens();
    this.#database = database;
    this.#handlers = {
      CreateTable: (input) => createTable(database, input),
      DescribeTable: (input) => describeTable(database, input),
      DeleteTable: (input) => deleteTable(database, input),
      ListTables: (input) => listTables(database, input),
      UpdateTimeToLive: (input) => updateTimeToLive(database, input),
      DescribeTimeToLive: (input) => describeTimeToLive(database, input),
      GetItem: (input, conditions) => getItem(database, input, conditions),
      PutItem: (input) => putItem(database, input),
      UpdateItem: (input) => updateItem(database, input),
      DeleteItem: (input) => deleteItem(database, input),
      Query: (input, conditions) => new PageRead(planQuery(database, input, conditions)).result(),
      Scan: (input, conditions) => new PageRead(planScan(database, input, conditions)).result(),
      BatchGetItem: (input, conditions) => new BatchRead(database, input, conditions).result(),
      BatchWriteItem: (input, conditions) => batchWriteItem(database, input, conditions),
      TransactWriteItems: (input) => transactWriteItems(database, tokens, input),
      TransactGetItems: (input) => transactGetItems(database, input),
    };
  }

  /**
   * Performs one operation at once.
   * @throws ServiceError as the service refuses; NotModelledError for what this model has not.
   */
  execute<Name extends OperationName>(
    operation: Name,
    input: Operations[Name]["input"],
    conditions: CallConditions = {},
  ): Operations[Name]["output"] {
    if (!Object.hasOwn(this.#handlers, operation)) {
      throw new NotModelledError(`DynamoDB's ${operation} is not modelled`);
    }
    return this.#handlers[operation](input, conditions);
  }

  /**
   * Begins a read of many items, to be gone on with step by step while others write. What is wrong
   * with the request is thrown here.
   */
  startRead<Name extends SteppedOperation>(
    operation: Name,
    input: Operations[Name]["input"],
    conditions: CallConditions = {},
  ): SteppedRead<Operations[Name]["output"]> {
    const start: {
      readonly [Each in SteppedOperation]: (
        request: Operations[Each]["input"],
      ) => SteppedRead<Operations[Each]["output"]>;
    } = {
      Query: (request) => new PageRead(planQuery(this.#database, request, conditions)),
      Scan: (request) => new PageRead(planScan(this.#database, request, conditions)),
      BatchGetItem: (request) => new BatchRead(this.#database, request, conditions),
    };
    return start[operation](input);
  }

  /**
   * Deletes items whose time to live has passed, as the service does some time later. Returns how
   * many.
   */
  expire(tableFilter: (table: string) => boolean = () => true): number {
    const database = this.#database;
    let deleted = 0;
    for (const table of database.tables.values()) {
      if (!tableFilter(table.name)) continue;
      for (const { key } of [...table.expired(database.nowMs)]) {
        database.write(table, key, undefined);
        deleted += 1;
      }
    }
    return deleted;
  }

  /** Calls the listener after every change of an item, in the order of changes. */
  onWrite(listener: (change: ItemChange) => void): void {
    this.#database.onWrite(listener);
  }

  /**
   * All items of a table, in a scan's order, for judges.
   * @throws ServiceError when there is no such
   * table.
   */
  rows(table: string): readonly { readonly key: Item; readonly item: Item }[] {
    const found = this.#database.table(table);
    const rows: { readonly key: Item; readonly item: Item }[] = [];
    for (const { current } of found.rows.inHashRange({ hashLow: 0, hashHigh: 2 ** 32 })) {
      if (current !== undefined) rows.push({ key: found.key(current.item), item: current.item });
    }
    return rows;
  }
}
