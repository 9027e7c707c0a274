/** A library, and a program of its typical operations on one table. */
import type {
  AttributeDefinition,
  CreateTableCommandInput,
  DynamoDB,
} from "@aws-sdk/client-dynamodb";
import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

export type Step = {
  /** As the library calls it. */
  readonly operation: string;
  readonly run: () => Promise<unknown>;
  /** Its rows come in an order that the store alone knows. */
  readonly unordered?: boolean;
  /** It takes a transaction of DynamoDB's own. */
  readonly transaction?: boolean;
};

export type Clients = { readonly wire: DynamoDB; readonly document: DynamoDBDocumentClient };

export type Library = {
  readonly name: string;
  readonly program: (clients: Clients, table: string) => readonly Step[];
};

/** Keys for single-table designs, and an index of each kind and projection. */
export function tableInput(TableName: string): CreateTableCommandInput {
  const names = ["pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "lsi1sk"];
  const key = (hash: string, range?: string): CreateTableCommandInput["KeySchema"] => [
    { AttributeName: hash, KeyType: "HASH" },
    ...(range === undefined ? [] : [{ AttributeName: range, KeyType: "RANGE" } as const]),
  ];
  return {
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: key("pk", "sk"),
    AttributeDefinitions: names.map((AttributeName): AttributeDefinition => ({
      AttributeName,
      AttributeType: "S",
    })),
    GlobalSecondaryIndexes: [
      {
        IndexName: "gsi1",
        KeySchema: key("gsi1pk", "gsi1sk"),
        Projection: { ProjectionType: "ALL" },
      },
      {
        IndexName: "gsi2",
        KeySchema: key("gsi2pk"),
        Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["note"] },
      },
    ],
    LocalSecondaryIndexes: [
      {
        IndexName: "lsi1",
        KeySchema: key("pk", "lsi1sk"),
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
  };
}

/** For libraries whose types are narrower than what they take. */
type Method = (...given: readonly unknown[]) => Promise<unknown>;
export type Loose = Readonly<
  Record<"create" | "get" | "find" | "scan" | "update" | "upsert" | "remove", Method>
>;
