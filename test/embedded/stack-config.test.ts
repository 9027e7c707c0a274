/** Mistakes in a configuration file: each names the field, and shows what would be right. */
import { writeFileSync } from "node:fs";
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
