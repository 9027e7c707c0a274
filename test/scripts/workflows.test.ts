/** The workflows: what they run is there, and they are granted no more than they need. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
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

/** Runs the step that looks for the version's section. Its exit code, and the notes. */
function notesFor(version: string, changelog: string) {
  const step = /section of the version\n +run: \|\n((?: {10}.*\n)+)/u.exec(read("release"))?.[1];
  const folder = mkdtempSync(join(tmpdir(), "tidemark-notes-"));
  try {
    writeFileSync(join(folder, "CHANGELOG.md"), changelog);
    const env = { ...process.env, GITHUB_REF_NAME: `v${version}`, RUNNER_TEMP: folder };
    const { status } = spawnSync("bash", ["-e", "-c", step ?? "false"], { cwd: folder, env });
    return { status, notes: readFileSync(join(folder, "notes.md"), "utf8").trim() };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("a release says what the changelog says of its version, and there is none without", () => {
  const log =
    "# Changelog\n\n## [Unreleased]\n\n- c\n\n## [0.1.10] - 2026-12-02\n\n### Added\n\n- b\n";
  const both = `${log}\n## [0.1.1] - 2026-12-01\n\n- a\n\n## [0.1.0] - 2026-11-30\n`;
  expect(notesFor("0.1.10", both)).toEqual({ status: 0, notes: "### Added\n\n- b" });
  expect(notesFor("0.1.1", both)).toEqual({ status: 0, notes: "- a" });
  expect(notesFor("0.1.0", both)).toEqual({ status: 1, notes: "" });
  expect(notesFor("0.2.0", both)).toEqual({ status: 1, notes: "" });
});

test("its notes are not taken from the tag, which the checkout leaves without a message", () => {
  const release = read("release");
  expect(release).not.toContain("--notes-from-tag");
  expect(release.indexOf("section of the version")).toBeLessThan(release.indexOf("npm publish"));
});
