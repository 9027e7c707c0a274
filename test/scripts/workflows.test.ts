/** The workflows: what they run is there, and they are granted no more than they need. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { supportedNodes } from "../package/supported-nodes.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (name: string): string =>
  readFileSync(join(root, ".github", "workflows", `${name}.yml`), "utf8");

describe.each(["ci", "release"])("%s.yml", (name) => {
  const text = read(name);

  test("runs only scripts that there are", () => {
    const scripts = Array.from(text.matchAll(/npm run ([\w:-]+)/gu), ([, script]) => script);
    expect(scripts.length).toBeGreaterThan(1);
    for (const script of scripts) expect(Object.keys(packageJson.scripts)).toContain(script);
  });

  test("grants nothing that no step needs: rights are named, and secrets are not", () => {
    expect(text).toMatch(/^permissions:/mu);
    expect(text).not.toContain("write-all");
    expect(text).not.toContain("secrets.");
  });
});

test("each supported version of Node.js is tested, and the lowest is what the package says", () => {
  expect(read("ci")).toContain(`node: [${supportedNodes.join(", ")}]`);
  expect(packageJson.engines.node).toBe(`>=${supportedNodes[0]}`);
});

test("a release is published with provenance, and with its bill of materials", () => {
  const release = read("release");
  expect(release).toContain("id-token: write");
  expect(release).toContain("npm publish --provenance");
  expect(release.indexOf("npm run sbom")).toBeGreaterThan(0);
  expect(release.indexOf("npm run sbom")).toBeLessThan(release.indexOf("npm publish"));
});
