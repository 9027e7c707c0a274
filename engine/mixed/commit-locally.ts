/**
 * Whether a transaction can be committed by one write of its one item, without the log, and what
 * that comes to (docs/adr/0014-native-operations.md, Local commit; local-commit.ts has the steps).
 */
import { CommitUnknownError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ItemAddress } from "../../core/mixed-items-port.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import { takesLocalCommits } from "../../core/table-access.ts";
import type { Item, TransactionId } from "../../core/types.ts";
import { asError } from "../concurrency.ts";
import type { AttemptView } from "../mixed-way.ts";
import type { WriteBuffer } from "../attempts/write-buffer.ts";
import { addressOf } from "./mixed-reader.ts";
import type { MixedItems } from "./mixed-items.ts";
import type { MixedReadSet } from "./mixed-read-set.ts";
import { nativeConflict } from "./native-conflict.ts";
import type { SeenItem } from "./seen-item.ts";

export type LocalWrite = {
  readonly at: ItemAddress;
  readonly read: SeenItem | undefined;
  readonly item: Item | undefined;
};

/** The one write of a transaction that has touched nothing else; undefined: it has. */
export function localWriteOf(
  { writes, view }: { readonly writes: WriteBuffer; readonly view: AttemptView },
  set: MixedReadSet,
): LocalWrite | undefined {
  const [entry] = writes.entries();
  if (entry === undefined || writes.size > 1) return undefined;
  const [identity, write] = entry;
  if (!takesLocalCommits(write.table) || view.reads.size > 0) return undefined;
  const read = set.keys.get(identity);
  if (set.size > (read === undefined ? 0 : 1)) return undefined;
  return { at: addressOf(write), read: read?.seen, item: write.item };
}

/**
 * False: nothing has happened, and cannot this way.
 * @throws ConflictError, StoreError, UnavailableError: not committed.
 * @throws CommitUnknownError: it may be, and no log will ever tell.
 */
export async function commitLocally(
  { items, ports }: { readonly items: MixedItems; readonly ports: Pick<ClientPorts, "clock"> },
  write: LocalWrite,
  { id, call }: { readonly id: TransactionId; readonly call: CallOptions },
): Promise<boolean> {
  const signBeforeMs = ports.clock.nowMs() + limits.installSignMsMax;
  const result = await items.commitLocally(write, { ...call, signBeforeMs });
  switch (result.kind) {
    case "committed":
      // probe: committed-locally
      return true;
    case "changed":
      throw nativeConflict({ table: write.at.table.name, key: write.at.key });
    case "refer":
      return false;
    case "unknown":
      throw new CommitUnknownError(
        `the answer to the one write of a transaction on table "${write.at.table.name}" was ` +
          "lost, and the item does not tell whether it has happened; read the item",
        id,
        result.cause === undefined ? {} : { cause: asError(result.cause) },
      );
  }
}
