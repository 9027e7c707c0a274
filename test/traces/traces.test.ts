/**
 * Golden traces: what the rules of docs/protocol.md §3 to §5 decide, as text to be read in a
 * review. `npx vitest run --project unit test/traces -u` writes the answers anew.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { outcomes } from "../../core/verdict-kinds.ts";
import type { Judgement } from "../../core/visibility.ts";
import { oracleMachine } from "./oracle-machine.ts";
import { tailMachine } from "./tail-machine.ts";
import { play } from "./trace-file.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith(".trace"));
const machines = new Map([
  ["oracle", oracleMachine],
  ["tail", tailMachine],
]);

function played(file: string): string {
  return play(readFileSync(`${folder}${file}`, "utf8"), machines);
}

/** Every answer of the traces whose file name begins so. */
function answers(prefix: string): readonly string[] {
  return files
    .filter((file) => file.startsWith(prefix))
    .flatMap((file) => played(file).split("\n"))
    .filter((line) => line.startsWith("=>"));
}

test.each(files)("%s stands as it is written", async (file) => {
  await expect(played(file)).toMatchFileSnapshot(`${folder}${file}`);
});

describe("the traces show", () => {
  test.each(outcomes)("a request that ends as %s", (outcome) => {
    expect(answers("oracle-").some((line) => line.includes(` ${outcome}`))).toBe(true);
  });

  const judgements: Readonly<Record<Judgement["kind"], true>> = {
    consistent: true,
    lacking: true,
    "ahead-of-tail": true,
    unsettled: true,
    "stale-answer": true,
    overtaken: true,
  };
  test.each(Object.keys(judgements))("an answer of the store that is judged %s", (kind) => {
    expect(answers("reading-").some((line) => line.startsWith(`=> ${kind}`))).toBe(true);
  });
});
