/**
 * The folder that keeps a stack's data over restarts: what is in it, and how to tell that it is
 * ours, of a format that we read, and whole. Whatever else lies there is left alone.
 *
 * ```
 * tidemark-data.json   the marker: format, filled sample tables, whether the stores were made
 * checkpoints.json     how far each function has read the stream
 * dynamodb/ kinesis/   the stores (LevelDB)
 * room.new             there for a moment, to see whether there is room again
 * ```
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { StackError } from "./stack-error.ts";
import type { Checkpoint } from "./shard-consumer.ts";
import { storesRoomBytes } from "./limits.ts";

/** Checkpoints by `<function>/<stream>`, then by shard. */
export type Checkpoints = Record<string, Record<string, Checkpoint>>;

type Marker = {
  readonly format: number;
  /** The stores have been made: from then on their files must be there. */
  readonly storesMade: boolean;
  /** Sample tables that were filled once, and whose rows are the user's business since. */
  readonly filledTables: readonly string[];
};

const dataFolderFormat = 1;
const markerName = "tidemark-data.json";
const checkpointsName = "checkpoints.json";
const storeFolders = ["dynamodb", "kinesis"] as const;

/** Not `recursive`: below a folder such as /proc, Node 20 then tries for ever. */
function makeFolder(path: string): void {
  const parent = dirname(path);
  if (existsSync(path) || parent === path) return;
  makeFolder(parent);
  try {
    mkdirSync(path);
  } catch (error) {
    // Somebody else has made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

export class DataFolder {
  readonly path: string;
  #marker: Marker;

  private constructor(path: string, marker: Marker) {
    this.path = path;
    this.#marker = marker;
  }

  /**
   * Opens a folder, or makes it.
   * @throws StackError in one line that names the folder, what is wrong, and what to do.
   */
  static open(folder: string): DataFolder {
    const path = resolve(folder);
    try {
      makeFolder(path);
      if (!statSync(path).isDirectory()) throw new Error("it is not a folder");
      const names = readdirSync(path);
      if (names.length > 0 && !names.includes(markerName)) {
        throw new StackError(
          "data-folder",
          `the data folder ${path} holds other files and none of Tidemark's; ` +
            "name an empty or a new folder with --data <folder>",
        );
      }
      const opened = new DataFolder(path, names.length === 0 ? newMarker : readMarker(path));
      opened.#checkStores();
      // Written even if unchanged: that shows whether the folder can be written at all.
      opened.#write(markerName, opened.#marker);
      return opened;
    } catch (error) {
      if (error instanceof StackError) throw error;
      const because = error instanceof Error ? error.message : String(error);
      throw new StackError(
        "data-folder",
        `the data folder ${path} cannot be used: ${because}; what is in it stays as it is: make ` +
          "room or grant access, or name another with --data <folder>",
        { cause: error },
      );
    }
  }

  get filledTables(): readonly string[] {
    return this.#marker.filledTables;
  }

  storesMade(): void {
    if (!this.#marker.storesMade) this.#change({ storesMade: true });
  }

  tableFilled(table: string): void {
    this.#change({ filledTables: [...this.filledTables, table] });
  }

  /**
   * What was saved last; nothing when the file is missing or torn: delivery then starts over,
   * safely.
   */
  readCheckpoints(): Checkpoints {
    try {
      return JSON.parse(readFileSync(join(this.path, checkpointsName), "utf8")) as Checkpoints;
    } catch {
      return {};
    }
  }

  saveCheckpoints(checkpoints: Checkpoints): void {
    this.#write(checkpointsName, checkpoints);
  }

  #change(change: Partial<Marker>): void {
    const marker = { ...this.#marker, ...change };
    try {
      this.#write(markerName, marker);
    } catch (cause) {
      const because = cause instanceof Error ? cause.message : String(cause);
      throw new StackError("data-folder", unwritable(this.path, because, "start again"), { cause });
    }
    this.#marker = marker;
  }

  #write(name: string, content: unknown): void {
    const file = join(this.path, name);
    writeFileSync(`${file}.new`, `${JSON.stringify(content, undefined, 2)}\n`);
    renameSync(`${file}.new`, file);
  }

  /** LevelDB would quietly begin anew where its `CURRENT` is missing, and drop what is left. */
  #checkStores(): void {
    if (!this.#marker.storesMade) return;
    for (const store of storeFolders) {
      if (existsSync(join(this.path, store, "CURRENT"))) continue;
      throw corruptDataFolder(this.path, `${store}/CURRENT is missing`);
    }
  }
}

export function corruptDataFolder(path: string, because: string): StackError {
  return new StackError(
    "data-folder",
    `the data folder ${path} is corrupt: ${because}; ` +
      "restore it from a copy, delete it, or name another with --data <folder>",
  );
}

/** @param then what happens, or is to be done, once there is room. */
export function unwritable(path: string, because: string, then: string): string {
  return (
    `the data folder ${path} cannot be written: ${because}; nothing in it is damaged: make room ` +
    `or grant access, and ${then}`
  );
}

/** Whether the stores could be opened anew: they write what their logs hold into new files. */
export function hasRoom(path: string): boolean {
  const probe = join(path, "room.new");
  try {
    const { bavail, bsize } = statfsSync(path);
    if (bavail * bsize < storesRoomBytes) return false;
    // Quotas and limits of processes do not show there.
    writeFileSync(probe, new Uint8Array(storesRoomBytes));
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { force: true });
  }
}

const newMarker: Marker = { format: dataFolderFormat, storesMade: false, filledTables: [] };

function readMarker(path: string): Marker {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(join(path, markerName), "utf8"));
  } catch {
    throw corruptDataFolder(path, `${markerName} cannot be read`);
  }
  if (!isMarker(content)) throw corruptDataFolder(path, `${markerName} is not a marker`);
  if (content.format > dataFolderFormat) {
    throw new StackError(
      "data-folder",
      `the data folder ${path} was made by a newer version (format ${content.format.toString()}, ` +
        `this one reads ${dataFolderFormat.toString()}); name another with --data <folder>`,
    );
  }
  return content;
}

function isMarker(value: unknown): value is Marker {
  if (typeof value !== "object" || value === null) return false;
  const { format, storesMade, filledTables } = value as Readonly<Record<string, unknown>>;
  return (
    Number.isInteger(format) &&
    Number(format) >= 1 &&
    typeof storesMade === "boolean" &&
    Array.isArray(filledTables) &&
    filledTables.every((table) => typeof table === "string")
  );
}
