/**
 * Errors as the clients of AWS SDK v3 throw them: `name` is the service's own name of the
 * exception, and `$metadata.httpStatusCode` and `$fault` say who is at fault. Code that tells
 * errors apart by these needs no change.
 */
import type { AttributeValue, CancellationReason } from "@aws-sdk/client-dynamodb";

export type ServiceErrorDetails = {
  readonly message: string;
  /** HTTP status code; below 500 the client is at fault. Default 400. */
  readonly status?: number;
  /** Of a ConditionalCheckFailedException, where the request asked for it. */
  readonly item?: Record<string, AttributeValue> | undefined;
  /** Of a TransactionCanceledException, one for each item in the request's order. */
  readonly cancellationReasons?: readonly CancellationReason[] | undefined;
};

export class ServiceError extends Error {
  override readonly name: string;
  readonly $fault: "client" | "server";
  readonly $metadata: { readonly httpStatusCode: number };
  declare readonly Item?: Record<string, AttributeValue>;
  declare readonly CancellationReasons?: readonly CancellationReason[];

  /** @param name as the service calls it: `ValidationException`. */
  constructor(name: string, details: ServiceErrorDetails) {
    super(details.message);
    this.name = name;
    const status = details.status ?? 400;
    this.$fault = status < 500 ? "client" : "server";
    this.$metadata = { httpStatusCode: status };
    if (details.item !== undefined) this.Item = details.item;
    if (details.cancellationReasons !== undefined) {
      this.CancellationReasons = details.cancellationReasons;
    }
  }
}

/**
 * For what a service has and its model has not: no answer of the service, so that nobody takes it
 * for one.
 */
export class NotModelledError extends Error {
  override readonly name = "NotModelledError";
}
