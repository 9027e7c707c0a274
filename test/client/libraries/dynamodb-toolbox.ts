/** dynamodb-toolbox: a table with an index, and one entity. */
import { Entity } from "dynamodb-toolbox/entity";
import { BatchDeleteRequest } from "dynamodb-toolbox/entity/actions/batchDelete";
import { BatchGetRequest } from "dynamodb-toolbox/entity/actions/batchGet";
import { BatchPutRequest } from "dynamodb-toolbox/entity/actions/batchPut";
import { DeleteItemCommand } from "dynamodb-toolbox/entity/actions/delete";
import { GetItemCommand } from "dynamodb-toolbox/entity/actions/get";
import { PutItemCommand } from "dynamodb-toolbox/entity/actions/put";
import { ConditionCheck } from "dynamodb-toolbox/entity/actions/transactCheck";
import { DeleteTransaction } from "dynamodb-toolbox/entity/actions/transactDelete";
import {
  execute as executeGets,
  GetTransaction,
} from "dynamodb-toolbox/entity/actions/transactGet";
import { PutTransaction } from "dynamodb-toolbox/entity/actions/transactPut";
import { UpdateTransaction } from "dynamodb-toolbox/entity/actions/transactUpdate";
import { execute as executeWrites } from "dynamodb-toolbox/entity/actions/transactWrite";
import {
  $add,
  $append,
  $delete,
  $remove,
  $set,
  UpdateItemCommand,
} from "dynamodb-toolbox/entity/actions/update";
import { item, list, number, set, string } from "dynamodb-toolbox/schema";
import { Table } from "dynamodb-toolbox/table";
import {
  BatchGetCommand,
  execute as executeBatchGet,
} from "dynamodb-toolbox/table/actions/batchGet";
import {
  BatchWriteCommand,
  execute as executeBatchWrite,
} from "dynamodb-toolbox/table/actions/batchWrite";
import { QueryCommand } from "dynamodb-toolbox/table/actions/query";
import { ScanCommand } from "dynamodb-toolbox/table/actions/scan";
import type { Clients, Library, Step } from "./library.ts";

function partsOf({ document: documentClient }: Clients, name: string) {
  const table = new Table({
    ...{ name, documentClient },
    partitionKey: { name: "pk", type: "string" },
    sortKey: { name: "sk", type: "string" },
    indexes: {
      gsi1: {
        type: "global",
        partitionKey: { name: "gsi1pk", type: "string" },
        sortKey: { name: "gsi1sk", type: "string" },
      },
    },
  });
  const entity = new Entity({
    ...{ name: "Pokemon", table },
    schema: item({
      id: string().key().savedAs("pk"),
      kind: string().key().savedAs("sk"),
      level: number().optional(),
      name: string().optional(),
      trainer: string().optional().savedAs("gsi1pk"),
      since: string().optional().savedAs("gsi1sk"),
      moves: list(string()).optional(),
      types: set(string()).optional(),
    }),
  });
  return { table, entity };
}

export const dynamodbToolbox: Library = {
  name: "dynamodb-toolbox",
  program: (clients, name) => {
    const { table, entity } = partsOf(clients, name);
    const key = { id: "pikachu", kind: "mouse" };
    const other = { ...key, kind: "other" };
    const absent = { ...key, kind: "none" };
    const isNew = { condition: { attr: "id", exists: false } } as const;
    const one: readonly Step[] = [
      {
        operation: "PutItemCommand, condition",
        run: () =>
          entity
            .build(PutItemCommand)
            .item({ ...key, level: 1, moves: ["tackle"], types: new Set(["electric"]) })
            .options(isNew)
            .send(),
      },
      {
        operation: "PutItemCommand, condition that fails",
        run: () =>
          entity
            .build(PutItemCommand)
            .item({ ...key, level: 2 })
            .options(isNew)
            .send(),
      },
      {
        operation: "PutItemCommand",
        run: () =>
          entity
            .build(PutItemCommand)
            .item({ ...other, trainer: "ash", since: "1997" })
            .options({ returnValues: "ALL_OLD" })
            .send(),
      },
      { operation: "GetItemCommand", run: () => entity.build(GetItemCommand).key(key).send() },
      {
        operation: "GetItemCommand, attributes",
        run: () =>
          entity
            .build(GetItemCommand)
            .key(key)
            .options({ attributes: ["level"], consistent: true })
            .send(),
      },
      {
        operation: "GetItemCommand, of none",
        run: () => entity.build(GetItemCommand).key(absent).send(),
      },
      {
        operation: "UpdateItemCommand, $add",
        run: () =>
          entity
            .build(UpdateItemCommand)
            .item({ ...key, level: $add(3), trainer: "ash", since: "1996" })
            .options({ returnValues: "ALL_NEW" })
            .send(),
      },
      {
        operation: "UpdateItemCommand, $append and $delete",
        run: () =>
          entity
            .build(UpdateItemCommand)
            .item({ ...key, moves: $append(["spark"]), types: $delete(new Set(["electric"])) })
            .options({ returnValues: "UPDATED_NEW" })
            .send(),
      },
      {
        operation: "UpdateItemCommand, $set and $remove",
        run: () =>
          entity
            .build(UpdateItemCommand)
            .item({ ...key, moves: $set(["thunder"]), name: $remove() })
            .options({ returnValues: "UPDATED_OLD" })
            .send(),
      },
      {
        operation: "UpdateItemCommand, condition that fails",
        run: () =>
          entity
            .build(UpdateItemCommand)
            .item({ ...key, name: "Pika" })
            .options({ condition: { attr: "level", gt: 100 } })
            .send(),
      },
    ];
    const many: readonly Step[] = [
      {
        operation: "BatchWriteCommand",
        run: () =>
          executeBatchWrite(
            table
              .build(BatchWriteCommand)
              .requests(
                entity.build(BatchPutRequest).item({ id: "eevee", kind: "fox", level: 1 }),
                entity.build(BatchDeleteRequest).key(absent),
              ),
          ),
      },
      {
        operation: "BatchGetCommand",
        run: () =>
          executeBatchGet(
            table
              .build(BatchGetCommand)
              .requests(
                entity.build(BatchGetRequest).key(key),
                entity.build(BatchGetRequest).key(absent),
              ),
          ),
      },
      {
        operation: "QueryCommand",
        run: () =>
          table.build(QueryCommand).query({ partition: "pikachu" }).entities(entity).send(),
      },
      {
        operation: "QueryCommand, range and filter",
        run: () =>
          table
            .build(QueryCommand)
            .query({ partition: "pikachu", range: { beginsWith: "m" } })
            .entities(entity)
            .options({ filters: { Pokemon: { attr: "level", gte: 1 } } })
            .send(),
      },
      {
        operation: "QueryCommand, limit and reverse",
        run: () =>
          table
            .build(QueryCommand)
            .query({ partition: "pikachu" })
            .options({ limit: 1, reverse: true })
            .send(),
      },
      {
        operation: "QueryCommand, all pages",
        run: () =>
          table
            .build(QueryCommand)
            .query({ partition: "pikachu" })
            .options({ limit: 1, maxPages: Infinity })
            .send(),
      },
      {
        operation: "QueryCommand, of an index",
        run: () =>
          table
            .build(QueryCommand)
            .query({ index: "gsi1", partition: "ash" })
            .entities(entity)
            .send(),
      },
      {
        operation: "ScanCommand",
        unordered: true,
        run: () => table.build(ScanCommand).entities(entity).send(),
      },
      {
        operation: "ScanCommand, COUNT",
        run: () => table.build(ScanCommand).options({ select: "COUNT" }).send(),
      },
    ];
    const transactions: readonly Step[] = [
      {
        operation: "transactWrite",
        transaction: true,
        run: () =>
          executeWrites(
            entity.build(PutTransaction).item({ id: "mew", kind: "psi" }).options(isNew),
            entity.build(UpdateTransaction).item({ ...key, level: $add(1) }),
            entity.build(DeleteTransaction).key(absent),
            entity.build(ConditionCheck).key(other).condition({ attr: "id", exists: true }),
          ),
      },
      {
        operation: "transactWrite, canceled",
        transaction: true,
        run: () =>
          executeWrites(
            entity.build(PutTransaction).item(key).options(isNew),
            entity.build(PutTransaction).item({ id: "mew", kind: "two" }),
          ),
      },
      {
        operation: "transactGet",
        transaction: true,
        run: () =>
          executeGets(
            entity.build(GetTransaction).key(key),
            entity.build(GetTransaction).key(absent),
          ),
      },
    ];
    const gone: readonly Step[] = [
      {
        operation: "DeleteItemCommand",
        run: () =>
          entity.build(DeleteItemCommand).key(key).options({ returnValues: "ALL_OLD" }).send(),
      },
      {
        operation: "DeleteItemCommand, condition that fails",
        run: () =>
          entity
            .build(DeleteItemCommand)
            .key(absent)
            .options({ condition: { attr: "id", exists: true } })
            .send(),
      },
    ];
    return [...one, ...many, ...transactions, ...gone];
  },
};
