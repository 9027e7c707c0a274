/**
 * Looks whether a LevelDB folder can be opened, before a protocol server does: the servers open
 * theirs unasked and turn a damaged one into failing requests.
 */
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";

export type LevelState =
  | { readonly kind: "usable" }
  /** Another process has it open. */
  | { readonly kind: "locked" }
  /** The machine refuses: a full disk, a quota, missing rights. What is stored is whole. */
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "unreadable"; readonly message: string };

type LevelModule = {
  readonly Level: new (location: string) => { open(): Promise<void>; close(): Promise<void> };
};

/** Opens the database, making it if it is missing, and closes it again. */
export async function checkLevelDatabase(folder: string): Promise<LevelState> {
  mkdirSync(folder, { recursive: true });
  // The very LevelDB that dynalite uses; it reads kinesalite's files as well.
  const require = createRequire(createRequire(import.meta.url).resolve("dynalite"));
  const { Level } = require("level") as LevelModule;
  const database = new Level(folder);
  try {
    await database.open();
    await database.close();
    return { kind: "usable" };
  } catch (error) {
    const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "LEVEL_LOCKED") return { kind: "locked" };
    return failureOf(cause instanceof Error ? cause.message : String(cause));
  }
}

/** LevelDB's own words: an error of the machine begins so, unless a file is not there. */
function failureOf(message: string): LevelState {
  const refused = /^IO error: /u.test(message) && !/no such file/iu.test(message);
  return { kind: refused ? "refused" : "unreadable", message };
}
