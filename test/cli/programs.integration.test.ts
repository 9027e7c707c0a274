/** The command as a process: exit codes, pipes, Ctrl-C, the demo, and completion in a real bash. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { startProgram, wordsOf } from "../harness/started-program.ts";
import { eventually, tidemark } from "./fixtures/command-line.ts";

const script = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

let stack: EmbeddedStack;

beforeAll(async () => {
  stack = await startEmbeddedStack({ sampleTables: false });
}, 60_000);

afterAll(async () => {
  await stack.stop();
});

const run = (...args: readonly string[]) => startProgram(wordsOf(script, ...args));

test("what it says and how it ends reaches the shell; in a pipe there is no colour", async () => {
  const fine = run("status", "--endpoint", stack.endpoint);
  expect([await fine.ended, fine.seen.err]).toEqual([0, ""]);
  expect(fine.seen.out).toMatch(/^local at .*: healthy\n/);
  expect(fine.seen.out).not.toContain("\u001b");
  const wrong = run("status", "--endpoint", stack.endpoint, "--no-such");
  expect([await wrong.ended, wrong.seen.out]).toEqual([2, ""]);
  expect(wrong.seen.err).toContain("(tidemark status --help shows all options)");
});

test("who reads no further than the first line is no failure", async () => {
  const words = wordsOf(script, "status", "--watch", "1s", "--endpoint", stack.endpoint);
  const quoted = words.map((each) => `'${each}'`).join(" ");
  const piped = startProgram(["bash", "-c", `set -o pipefail; ${quoted} | head -n 1`]);
  expect([await piped.ended, piped.seen.err]).toEqual([0, ""]);
  expect(piped.seen.out).toMatch(/^local at /);
});

test("Ctrl-C ends what goes on by itself, with 0", async () => {
  const watch = run("status", "--watch", "--minimal", "--endpoint", stack.endpoint);
  await eventually(async () => (watch.seen.out === "" ? undefined : true));
  watch.child.kill("SIGINT");
  expect([await watch.ended, watch.seen.err]).toEqual([0, ""]);
});

test("demo runs clients on a stack and audits them", async () => {
  const few = ["--clients", "1", "--concurrency", "2", "--seconds", "1", "--accounts", "20"];
  const own = run("demo", ...few, "--json");
  expect(await own.ended).toBe(0);
  expect(JSON.parse(own.seen.out)).toMatchObject({ ok: true, audit: { faults: [] } });
  const both = run("demo", "--endpoint", stack.endpoint, "--data", "x");
  expect([await both.ended, both.seen.err]).toEqual([2, expect.stringMatching(/--data belongs/)]);
});

test("bash completes commands, their commands, and options", async () => {
  const { code, out } = await tidemark(["completion", "bash"]);
  expect(code).toBe(0);
  const completed = async (...words: readonly string[]): Promise<readonly string[]> => {
    const typed = ["tidemark", ...words].map((word) => `'${word}'`).join(" ");
    const state = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length}`;
    const ask = `${state}; _tidemark; echo "\${COMPREPLY[@]}"`;
    const shell = startProgram(["bash", "-c", `${out}\n${ask}`]);
    expect([await shell.ended, shell.seen.err]).toEqual([0, ""]);
    return shell.seen.out.trim().split(" ");
  };
  expect(await completed("sta")).toEqual(["start", "status"]);
  expect(await completed("ini")).toEqual(["init"]);
  expect(await completed("init", "--n")).toEqual(["--name"]);
  expect(await completed("base", "c")).toEqual(["cancel"]);
  expect(await completed("tables", "h")).toEqual(["history"]);
  expect(await completed("base", "r")).toEqual(["resume"]);
  expect(await completed("tables", "history", "--w")).toEqual(["--write"]);
  expect(await completed("status", "--endpoint", "http://x", "--mi")).toEqual(["--minimal"]);
  expect(await completed("register", "--access", "")).toEqual(["transactional", "mixed"]);
  expect(await completed("start", "--log-level", "s")).toEqual(["silent"]);
  expect(await completed("tables", "history", "accounts", "o")).toEqual(["on", "off"]);
  expect(await completed("completion", "z")).toEqual(["zsh"]);
});

test("zsh gets a script of its own; another shell is refused", async () => {
  const { out } = await tidemark(["completion", "zsh", "--json"]);
  const { script: text } = JSON.parse(out) as { script: string };
  expect(text).toMatch(/^#compdef tidemark\n/);
  expect(text).toContain('"tables history") place="tables history" ;;');
  expect(text).toContain('"move --access") choices="transactional mixed" ;;');
  // Read from $fpath it is what the first Tab runs, and not only what defines it.
  expect(text).toMatch(/funcstack\[1\]\}" = "_tidemark" \]; then\n {2}_tidemark "\$@"/);
  const { code, err } = await tidemark(["completion", "fish"]);
  expect([code, err]).toEqual([2, expect.stringMatching(/Allowed choices are bash, zsh/)]);
});
