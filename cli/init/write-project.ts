/**
 * Writes files that are not there yet. All of them are looked at before the first is written, so
 * that a refusal leaves the folder as it was; and each is written only if it still is not there, so
 * that nothing is overwritten that came in between.
 */
import { lstatSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { InvalidRequestError } from "../../core/errors.ts";
import { StackError } from "../../localstack/stack-error.ts";

/**
 * @param folder absolute; made if it is not there.
 * @throws InvalidRequestError that names what stands in the way.
 * @throws StackError where the system does not let us write.
 */
export function writeProject(folder: string, files: ReadonlyMap<string, string>): void {
  asTheSystemSays(() => {
    assertFolder(folder);
    for (const path of files.keys()) assertFree(folder, path);
    for (const [path, text] of files) {
      const file = join(folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeNew(file, text);
    }
  });
}

function assertFolder(folder: string): void {
  const isThere = lstatSync(folder, { throwIfNoEntry: false }) !== undefined;
  if (isThere && !isFolder(folder)) throw inTheWay(folder, "is there already, and is no folder");
}

/** One that a link leads to is one. */
function isFolder(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The file is not there, and what is there of the way to it are folders. */
function assertFree(folder: string, path: string): void {
  const steps = path.split("/");
  for (const at of steps.keys()) {
    const place = join(folder, ...steps.slice(0, at + 1));
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (at === steps.length - 1) throw inTheWay(place, "is there already");
    if (!isFolder(place)) throw inTheWay(place, "is no folder");
  }
}

function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw inTheWay(file, "is there already");
  }
}

function inTheWay(place: string, what: string): InvalidRequestError {
  return new InvalidRequestError(
    "dir",
    `${place} ${what}; nothing is overwritten: name a folder without it`,
  );
}

function asTheSystemSays(write: () => void): void {
  try {
    write();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (typeof code !== "string" || !/^E[A-Z]+$/.test(code)) throw error;
    throw new StackError("other", `cannot write the project: ${message}`, { cause: error });
  }
}
