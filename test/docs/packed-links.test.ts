/** Links of the documents in the package lead to files in the package. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linkViolations } from "../tidy/references.ts";

const root = join(import.meta.dirname, "..", "..");

/** What would be packed of the tree as it stands, without building it. */
function packedFiles(): ReadonlyMap<string, string> {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const said = execFileSync("npm", args, { cwd: root, encoding: "utf8" });
  const [{ files }] = JSON.parse(said) as [{ files: readonly { readonly path: string }[] }];
  const paths = files.map(({ path }) => path).filter((path) => !path.startsWith("dist/"));
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
}

test("documents of the package link to what is in it", () => {
  const packed = packedFiles();
  expect(packed.has("README.md")).toBe(true);
  expect(linkViolations(packed)).toEqual([]);
});
