/**
 * For a client of the AWS SDK whose calls the model of DynamoDB answers: natively and whole, where
 * the protocol server of the tests knows no transactions.
 */
import type { CreateTableCommandInput, DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { outputResponse, refusalResponse } from "../../client/wire.ts";
import { ServiceError } from "../../expressions/service-error.ts";
import { DynamoDbModel } from "../../testing/cloud/dynamodb/model.ts";
import type { OperationName } from "../../testing/cloud/dynamodb/operation-types.ts";

type HttpRequest = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
};

export function modelHandler(table: CreateTableCommandInput): DynamoDBClientConfig {
  const model = new DynamoDbModel({ nowMs: () => 0 });
  model.execute("CreateTable", table);
  return {
    region: "eu-west-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    requestHandler: {
      handle: async ({ headers, body }: HttpRequest) => {
        const operation = (headers["x-amz-target"] ?? "").replace(/^.*\./u, "") as OperationName;
        const text = typeof body === "string" ? body : new TextDecoder().decode(body);
        const input = JSON.parse(text, withBytes) as never;
        try {
          return { response: outputResponse(model.execute(operation, input)) };
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          return { response: refusalResponse(error) };
        }
      },
    } as never,
  };
}

function withBytes(name: string, value: unknown): unknown {
  const bytes = (text: unknown): unknown =>
    typeof text === "string" ? new Uint8Array(Buffer.from(text, "base64")) : text;
  if (name === "B") return bytes(value);
  return name === "BS" && Array.isArray(value) ? value.map(bytes) : value;
}
