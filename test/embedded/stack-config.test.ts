/** Mistakes in a configuration file: each names the field, and shows what would be right. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../localstack/stack-config.ts";
import { temporaryFolder } from "./fixtures/test-stack.ts";

const indexed = (index: unknown) => ({
  tables: [{ name: "orders", partitionKey: "id", indexes: [index] }],
});

test.each<[unknown, RegExp]>([
  [[], /configuration must be an object such as \{ tables:/],
  ["orders", /configuration must be an object such as/],
  [{ tables: ["orders:id"] }, /`tables\[0\]` must be an object such as \{ name: "orders"/],
  [{ tables: [{ name: "orders" }] }, /`tables\[0\]\.partitionKey` must be a name, or a name and/],
  [{ tables: [{ partitionKey: "id" }] }, /a table without a name: a name has 3 to 255/],
  [{ tables: [{ name: "o!", partitionKey: "id" }] }, /"o!" is no table's name/],
  [{ tables: [{ name: "orders", partitionKey: 5 }] }, /`tables\[0\]\.partitionKey` must be a name/],
  [
    indexed("by-state"),
    /`tables\[0\]\.indexes\[0\]` must be an object such as \{ name: "by-state"/,
  ],
  [indexed({ name: "by-state" }), /`tables\[0\]\.indexes\[0\]\.partitionKey` must be a name/],
  [{ tabels: [] }, /no option `tabels`; known are: tables/],
])("%j", async (content, expected) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "tidemark.config.json"), JSON.stringify(content));
  await expect(loadConfig(undefined, folder)).rejects.toMatchObject({
    name: "StackError",
    message: expect.stringMatching(expected) as string,
  });
});

const source = JSON.stringify(new URL("../../localstack/stack-config.ts", import.meta.url).href);
const loading = `const { loadConfig } = await import(${source});
console.log(await loadConfig(process.argv[1], "/").then(() => "loaded", String));`;

test.each([
  ["none", undefined, /typescript is not installed here: install typescript@6, or write/u],
  ["7.0.2", 'exports.version = "7.0.2";', /the typescript 7\.0\.2 installed .*typescript@6, or/u],
])("a file that Node cannot load, beside the compiler %s", (_which, compiler, expected) => {
  const folder = temporaryFolder();
  // Stands for `.ts` under a Node that does not take it.
  const file = join(folder, "tidemark.config.unloadable");
  writeFileSync(file, "export default {};");
  if (compiler !== undefined) {
    mkdirSync(join(folder, "node_modules", "typescript"), { recursive: true });
    writeFileSync(join(folder, "node_modules", "typescript", "index.js"), compiler);
  }
  const node = ["--import", "tsx", "--input-type=module", "-e", loading, file];
  const said = execFileSync(process.execPath, node, { encoding: "utf8" });
  expect(said).toMatch(/^StackError: .+ cannot load TypeScript/u);
  expect(said).toMatch(expected);
});
