/**
 * What the bodies of one client are given. A part of its own, with all that makes rows of items:
 * nothing of it is needed before there is an engine, and it is loaded beside that.
 */
import type { BodyTransaction, Reader } from "../engine/types.ts";
import { RowCodec } from "./row-codec.ts";
import type { MarshallOptions } from "./marshall.ts";
import type { Numbers } from "./numbers.ts";
import { ReadHandle, TransactionHandle } from "./transaction.ts";

export class Handles {
  readonly #codec: RowCodec;

  constructor(options: { readonly marshall: MarshallOptions; readonly numbers: Numbers }) {
    this.#codec = new RowCodec(options);
  }

  transaction(transaction: BodyTransaction, attempt: number): TransactionHandle {
    return new TransactionHandle(transaction, { attempt, codec: this.#codec });
  }

  snapshot(reader: Reader, attempt: number): ReadHandle {
    return new ReadHandle(reader, { attempt, codec: this.#codec });
  }
}
