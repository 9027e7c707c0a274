/** A write of whichever command, checked and bound to its table. */
import { bindWrite, type WriteInput } from "../expressions/writes.ts";
import { checkPart } from "./refused.ts";
import type { TableWrite, TransactionCommands } from "./transaction-commands.ts";

export function boundWrite(write: WriteInput, commands: TransactionCommands): TableWrite {
  checkPart(write.input);
  return bindWrite((name) => commands.table(name), write);
}

/** A put or a delete without condition stays blind: it conflicts with nobody. */
export function dependsOnItem({ kind, condition }: TableWrite): boolean {
  return kind === "update" || condition !== undefined;
}
