/**
 * Items of one answer in the caller's format. What a request names often is written once, and what
 * could not be delivered is found out while it is put together, not when it fills the memory.
 */
import { TransactionTooLargeError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Item } from "../../core/types.ts";
import { encodeItem, type ItemFormat, type JsonObject } from "../../schemas/rest/items.ts";

type Encoded = { readonly json: JsonObject; readonly bytes: number };

export class AnswerItems {
  readonly #format: ItemFormat;
  /** By the item itself: a transaction gives the same one for the same key. */
  readonly #encoded = new Map<Item, Encoded>();
  #bytes = 0;

  constructor(format: ItemFormat) {
    this.#format = format;
  }

  /** @throws TransactionTooLargeError once all items so far are more than can be delivered. */
  add(item: Item | undefined): JsonObject | null {
    if (item === undefined) return null;
    let encoded = this.#encoded.get(item);
    if (encoded === undefined) {
      const json = encodeItem(item, this.#format);
      encoded = { json, bytes: Buffer.byteLength(JSON.stringify(json)) };
      this.#encoded.set(item, encoded);
    }
    this.#bytes += encoded.bytes;
    if (this.#bytes > limits.restResponseBytesMax) throw undeliverable(this.#bytes);
    return encoded.json;
  }
}

/**
 * What cannot be delivered must not be committed first: this runs before the commit.
 * @throws TransactionTooLargeError
 */
export function requireDeliverable(answer: unknown): void {
  const text = JSON.stringify(answer);
  // Lambda puts the body into JSON once more, where quotes and backslashes double.
  const max = limits.restResponseBytesMax;
  const actual = Buffer.byteLength(text.length * 6 <= max ? text : JSON.stringify(text));
  if (actual > max) throw undeliverable(actual);
}

function undeliverable(actual: number): TransactionTooLargeError {
  const max = limits.restResponseBytesMax;
  return new TransactionTooLargeError(
    `the answer would have ${actual.toString()} bytes or more, above the ${max.toString()} that ` +
      "can be delivered; read fewer items, or pages with a lower limit",
    { name: "restResponseBytesMax", max, actual },
  );
}
