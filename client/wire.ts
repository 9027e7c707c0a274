/** Answers as DynamoDB's protocol has them, for the application's own AWS SDK to read. */
import type { ServiceError } from "../expressions/service-error.ts";

/** As the AWS SDK's handlers give it. */
export type WireResponse = {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

const headers = { "content-type": "application/x-amz-json-1.0" };

export function outputResponse(output: object): WireResponse {
  return { statusCode: 200, headers, body: encoded(output) };
}

/** The SDK makes of it the error that it makes of DynamoDB's own. */
export function refusalResponse(refusal: Refusal): WireResponse {
  const { name, message, Item, CancellationReasons } = refusal;
  const space =
    name === "ValidationException"
      ? "com.amazon.coral.validate"
      : "com.amazonaws.dynamodb.v20120810";
  const body = { __type: `${space}#${name}`, message, Item, CancellationReasons };
  return { statusCode: 400, headers, body: encoded(body) };
}

export type Refusal = Pick<ServiceError, "name" | "message" | "Item" | "CancellationReasons">;

function encoded(value: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value, withBase64));
}

/** Of the holder: what has a JSON form of its own has been turned into that already. */
function withBase64(
  this: Readonly<Record<string, unknown>>,
  name: string,
  value: unknown,
): unknown {
  const own = this[name];
  return own instanceof Uint8Array ? Buffer.from(own).toString("base64") : value;
}
