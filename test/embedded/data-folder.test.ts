/** Making the folder that `--data` names. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DataFolder } from "../../localstack/data-folder.ts";

test("a folder is made with all that is missing above it", () => {
  const above = mkdtempSync(join(tmpdir(), "tidemark-data-"));
  onTestFinished(() => {
    rmSync(above, { recursive: true });
  });
  const folder = join(above, "a", "b", "c");
  DataFolder.open(folder);
  expect(statSync(folder).isDirectory()).toBe(true);
  DataFolder.open(folder);
});

// In a process of its own: Node 20 never returns from making such a folder recursively.
test("a folder that cannot be made is said in one line", () => {
  const module = new URL("../../localstack/data-folder.ts", import.meta.url).href;
  const script =
    `import { DataFolder } from ${JSON.stringify(module)};\n` +
    'try { DataFolder.open("/proc/tidemark/data"); } catch (e) { console.log(String(e)); }';
  const arguments_ = ["--import", "tsx", "--input-type=module", "--eval", script];
  const options = { timeout: 20_000, killSignal: "SIGKILL", encoding: "utf8" } as const;
  const { stdout, signal } = spawnSync(process.execPath, arguments_, options);
  expect({ stdout, signal }).toEqual({
    stdout: expect.stringMatching(
      /^StackError: the data folder \S+ cannot be used: .+\n$/u,
    ) as unknown,
    signal: null,
  });
});
