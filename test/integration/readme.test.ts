/** The samples of README.md, run as printed on a fresh embedded stack. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { type Client, createClient, defineTable } from "../../sdk/index.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const printedAddress = "http://127.0.0.1:4600";
const accounts = defineTable<{ balanceCents: number }, { id: string }>("accounts");

let stack: EmbeddedStack;
let db: Client;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-readme-"));
  stack = await startEmbeddedStack();
  db = createClient({ endpoint: stack.endpoint });
});
afterAll(async () => {
  await db.close();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The one block of that language below a heading, with the stack's address in it. */
function sample(heading: string, language: string): string {
  const [, section = ""] = readme.split(`\n## ${heading}\n`);
  const [untilNext = ""] = section.split("\n## ");
  const [, block = ""] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(untilNext) ?? [];
  expect(block).toContain(printedAddress);
  return block.replaceAll(printedAddress, stack.endpoint);
}

async function run(command: string, ...args: readonly string[]): Promise<string> {
  const root = new URL("../..", import.meta.url);
  const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const [output, faults, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once("close", resolve)),
  ]);
  expect(code, faults).toBe(0);
  return output;
}

function balances(): Promise<(number | undefined)[]> {
  return db.snapshot(async (snapshot) => {
    const rows = await snapshot.batchGet(accounts, ["account-000", "account-001"]);
    return rows.map((row) => row?.balanceCents);
  });
}

test("the sample in TypeScript moves money, and refuses what an account lacks", async () => {
  // What a file of one's own in a clone finds by the package's name, once it is built.
  const sdk = new URL("../../sdk/index.ts", import.meta.url).href;
  const printed = sample("From TypeScript", "ts");
  expect(printed).toContain('from "tidemark"');
  const file = join(folder, "try.mts");
  const calls = `
console.log(await transfer("account-000", "account-001", 500));
console.log(await transfer("account-000", "account-001", 100_000_000));
await db.close();
`;
  writeFileSync(file, printed.replace('"tidemark"', JSON.stringify(sdk)) + calls);
  expect(await run(process.execPath, "--import", "tsx", file)).toBe("true\nfalse\n");
  expect(await balances()).toEqual([99_500, 100_500]);
});

test("the call by REST moves money, and gives both accounts", async () => {
  const before = await balances();
  const answer = JSON.parse(await run("bash", "-euc", sample("By REST", "sh"))) as object;
  expect(answer).toMatchObject({ receipt: { installed: true } });
  const [from = 0, to = 0] = before;
  expect(await balances()).toEqual([from - 500, to + 500]);
});
