/**
 * Every integration suite is either run against deployments or left out with a reason: none is
 * forgotten.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  deployedFiles,
  leftOut,
  leftOutTests,
  suitesFor,
} from "../../scripts/deployed-suite-list.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("every suite of test/integration runs against deployments, or says why it does not", () => {
  const found = readdirSync(join(root, "test/integration"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `test/integration/${name}`);
  const named = [...deployedFiles(), ...Object.keys(leftOut)];
  expect(found.length).toBeGreaterThan(10);
  expect(found.filter((file) => !named.includes(file))).toEqual([]);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(deployedFiles().filter((file) => file in leftOut)).toEqual([]);
});

test("on AWS only suites run that make no tables; without an address none that calls REST", () => {
  expect(suitesFor({ rest: true, tables: false, coreOnly: false })).toEqual([
    "test/deployed/sdk.deployed.ts",
    "test/deployed/rest.deployed.ts",
  ]);
  const withoutRest = suitesFor({ rest: false, tables: true, coreOnly: false });
  expect(withoutRest.filter((file) => /rest|api/.test(file))).toEqual([]);
  const core = suitesFor({ rest: true, tables: true, coreOnly: true });
  expect(core.length).toBeLessThan(deployedFiles().length);
});

test.each(leftOutTests)("of %s a test that is left out exists: %s", (file, title) => {
  expect(deployedFiles()).toContain(file);
  expect(readFileSync(join(root, file), "utf8")).toContain(`"${title}"`);
});
