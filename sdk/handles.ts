/**
 * What the bodies of one client are given. A part of its own, with all that makes rows of items:
 * nothing of it is needed before there is an engine, and it is loaded beside that.
 */
import { commandSupport, outsideOfBodies } from "../aws/command-support.ts";
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
      const scope = commandSupport()?.scope({ transaction, mayWrite: true });
      const rows = new RowUpdates(scope?.transaction ?? transaction, codec);
      const handle = new TransactionHandle(rows, attempt);
      try {
        const result = await (scope?.run(() => body(handle)) ?? body(handle));
        await handle.settled(result);
        return result;
      } catch (error) {
        rows.abandon();
        throw error;
      }
    };
  }

  /** Runs a call that a body may have made: what the engine does for it is no command of that. */
  outside<Result>(call: () => Promise<Result>): Promise<Result> {
    return outsideOfBodies(call);
  }

  snapshots<Result>(
    body: (snapshot: Snapshot) => Promise<Result>,
  ): (reader: Reader) => Promise<Result> {
    const codec = this.#codec;
    let attempt = 0;
    return async (reader) => {
      attempt += 1;
      const scope = commandSupport()?.scope({ transaction: reader, mayWrite: false });
      const rows = new RowReader(scope?.transaction ?? reader, codec);
      const handle = new SnapshotHandle(rows, attempt);
      return scope?.run(() => body(handle)) ?? body(handle);
    };
  }
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
