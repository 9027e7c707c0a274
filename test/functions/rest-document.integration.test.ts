/** The samples of docs/rest.md, run as printed by a shell on a fresh embedded stack. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { routes } from "../../schemas/rest/routes.ts";

const document = readFileSync(new URL("../../docs/rest.md", import.meta.url), "utf8");
const printedAddress = "http://127.0.0.1:4600";
const separator = "--- end of a sample ---";

type Sample = { readonly script: string; readonly status: number; readonly answer: unknown };

/** Each `sh` block is run; the `json` block after it, if there is one, is its answer. */
const samples: readonly Sample[] = [
  ...document.matchAll(/```sh\n([\s\S]*?)```(?:\s+(?:`(\d+)`[^\n]*\s+)?```json\n([\s\S]*?)```)?/g),
].map(([, script = "", status, answer]) => ({
  script,
  status: Number(status ?? 200),
  answer: answer === undefined ? undefined : (JSON.parse(answer) as unknown),
}));

let stack: EmbeddedStack;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-rest-"));
  const key = { name: "id", type: "S" } as const;
  const seats = { name: "seats", partitionKey: key, history: true, base: true };
  stack = await startEmbeddedStack({ tables: [seats] });
});
afterAll(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What differs from run to run: of these only the type is printed truly. */
const volatile = new Set([
  ...["transactionId", "commitTimestamp", "readTimestamp", "requestId", "transaction", "expiresAt"],
  ...["cursor", "attempts", "durationMs", "readUnits", "writeUnits", "calls"],
  ...["retryMs", "bodyMs", "certifyMs", "installMs", "since", "lastHeard"],
]);

function stable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      volatile.has(name) ? typeof member : stable(member),
    ]),
  );
}

test("shows every route, and each sample gives the answer that stands below it", async () => {
  const address = samples[0]?.script ?? "";
  expect(address).toContain(printedAddress);
  const scripts = samples.map(({ script }) => `${script}\necho; echo '${separator}'`);
  const shell = spawn("bash", ["-euo", "pipefail"], { cwd: folder });
  shell.stdin.end(scripts.join("\n").replace(printedAddress, stack.endpoint));
  const [output, faults, code] = await Promise.all([
    text(shell.stdout),
    text(shell.stderr),
    new Promise((resolve) => shell.once("close", resolve)),
  ]);
  expect([faults, code]).toEqual(["", 0]);
  const answers = output.split(separator).slice(0, -1);
  expect(answers).toHaveLength(samples.length);
  samples.forEach(({ script, status, answer }, index) => {
    if (answer === undefined) return;
    const given = JSON.parse(answers[index] ?? "") as { status?: unknown };
    expect(stable(given), script).toEqual(stable(answer));
    expect(typeof given.status === "number" ? given.status : 200, script).toBe(status);
  });

  const shown = samples.flatMap(({ script }) => {
    const path = /"\$API([^"?]+)/.exec(script)?.[1];
    const method = /-X (\w+)/.exec(script)?.[1] ?? (script.includes(" -d ") ? "POST" : "GET");
    return path === undefined ? [] : [`${method} ${path.replace("$ID", "{id}")}`];
  });
  expect([...new Set(shown)].sort()).toEqual(
    Object.values(routes)
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
      .sort(),
  );
});
