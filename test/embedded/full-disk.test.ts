/** A machine that cannot write is not taken for damaged data. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { checkLevelDatabase } from "../../localstack/level-database.ts";
import { temporaryFolder } from "./fixtures/test-stack.ts";

const module = fileURLToPath(new URL("../../localstack/level-database.ts", import.meta.url));

test("a store whose files cannot grow is refused as that, and keeps what it holds", async () => {
  const folder = join(temporaryFolder(), "dynamodb");
  expect(await checkLevelDatabase(folder)).toEqual({ kind: "usable" });
  const before = readFileSync(join(folder, "CURRENT"), "utf8");
  // No file may have a single byte more: what a full disk does, without one.
  const script = `import { checkLevelDatabase } from ${JSON.stringify(module)};
console.log(JSON.stringify(await checkLevelDatabase(${JSON.stringify(folder)})));`;
  const limited = `trap '' XFSZ; ulimit -f 0; exec "$0" "$@"`;
  const node = [process.execPath, "--import", "tsx", "--input-type=module", "-e", script];
  const said = execFileSync("sh", ["-c", limited, ...node], { encoding: "utf8" });
  expect(JSON.parse(said)).toMatchObject({ kind: "refused" });
  expect(readFileSync(join(folder, "CURRENT"), "utf8")).toBe(before);
  expect(await checkLevelDatabase(folder)).toEqual({ kind: "usable" });
  expect(readdirSync(folder)).toContain("CURRENT");
});
