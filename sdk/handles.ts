/**
 * What the bodies of one client are given. A part of its own, with all that makes rows of items:
 * nothing of it is needed before there is an engine, and it is loaded beside that.
 */
import { commandSupport, type Answering } from "../aws/command-support.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { BodyTransaction, Reader } from "../engine/types.ts";
import { RowCodec } from "./row-codec.ts";
import { RowReader } from "./row-reader.ts";
import { RowUpdates } from "./row-updates.ts";
import type { MarshallOptions } from "./marshall.ts";
import type { Numbers } from "./numbers.ts";
import { ReadHandle, TransactionHandle, type Snapshot, type Transaction } from "./transaction.ts";

export class Handles {
  readonly #codec: RowCodec;

  constructor(options: { readonly marshall: MarshallOptions; readonly numbers: Numbers }) {
    this.#codec = new RowCodec(options);
  }

  /** What runs the body at every attempt, and waits for the updates that it began. */
  transactions<Result>(
    body: (transaction: Transaction) => Promise<Result>,
  ): (transaction: BodyTransaction) => Promise<Result> {
    const codec = this.#codec;
    let attempt = 0;
    return async (transaction) => {
      attempt += 1;
      const rows = new RowUpdates(transaction, codec);
      const handle = new TransactionHandle(rows, attempt);
      try {
        const result = await within({ transaction, mayWrite: true }, () => body(handle));
        await handle.settled(result);
        return result;
      } catch (error) {
        rows.abandon();
        throw error;
      }
    };
  }

  snapshots<Result>(
    body: (snapshot: Snapshot) => Promise<Result>,
  ): (reader: Reader) => Promise<Result> {
    const codec = this.#codec;
    let attempt = 0;
    return async (reader) => {
      attempt += 1;
      const handle = new SnapshotHandle(new RowReader(reader, codec), attempt);
      return within({ transaction: reader, mayWrite: false }, () => body(handle));
    };
  }
}

/** Where the application wants it, commands of its own are answered meanwhile. */
function within<Result>(by: Answering, body: () => Promise<Result>): Promise<Result> {
  return commandSupport()?.run(by, body) ?? body();
}

/** For callers without types: what a snapshot does not do. */
class SnapshotHandle extends ReadHandle {
  put = readsOnly;
  update = readsOnly;
  delete = readsOnly;
  rollback = readsOnly;
}

function readsOnly(): never {
  throw new InvalidRequestError("body", "a snapshot only reads; use `db.transact`");
}
