/**
 * Errors as the clients of AWS SDK v3 throw them: `name` is the service's own name of the
 * exception, and `$metadata.httpStatusCode` and `$fault` say who is at fault. Code that tells
 * errors apart by these needs no change.
 */
import type { Item } from "../core/types.ts";

/** Why one part of a transaction was refused; `Code` is "None" for those that were not. */
export type CancellationReason = {
  Code?: string;
  Message?: string;
  Item?: Item;
};

export type ServiceErrorDetails = {
  readonly message: string;
  /** HTTP status code; below 500 the client is at fault. Default 400. */
  readonly status?: number;
  /** Of a ConditionalCheckFailedException, where the request asked for it. */
  readonly item?: Item | undefined;
  /** Of a TransactionCanceledException, one for each item in the request's order. */
  readonly cancellationReasons?: readonly CancellationReason[] | undefined;
};

export class ServiceError extends Error {
  override readonly name: string;
  readonly $fault: "client" | "server";
  readonly $metadata: { readonly httpStatusCode: number };
  declare readonly Item?: Item;
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
