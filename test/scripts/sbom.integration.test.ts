/** The bill of materials of the package, held against what its bundles are made of. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { nameAndVersion, packageFolder } from "../../scripts/bundled-packages.ts";
import { bundleFunction, functionNames } from "../../scripts/function-bundles.ts";
import { billOfMaterials, type Bom } from "../../scripts/sbom.ts";

const root = join(import.meta.dirname, "..", "..");

let bom: Bom;
let refs: readonly string[];
beforeAll(async () => {
  bom = await billOfMaterials();
  refs = bom.components.map((component) => component["bom-ref"]);
});

test("npm installs nothing with it but its peers, and the bill names those", () => {
  expect(Object.keys(packageJson)).not.toContain("dependencies");
  expect(Object.keys(packageJson)).not.toContain("optionalDependencies");
  const { name, version, properties } = bom.metadata.component;
  expect([bom.bomFormat, name, version]).toEqual(["CycloneDX", "tidemark", packageJson.version]);
  const peers = Object.entries(packageJson.peerDependencies).map(([peer, range]) => ({
    ...{ name: "tidemark:peer", value: `${peer}@${range}` },
  }));
  expect(properties).toEqual(peers);
});

test("every package that a function's source map names is in it", async () => {
  for (const name of functionNames()) {
    const { sourceMap } = await bundleFunction(name);
    const { sources } = JSON.parse(Buffer.from(sourceMap).toString()) as { sources: string[] };
    const folders = sources.flatMap((source) => {
      const path = source.replace(/^(\.\.\/)+/u, "");
      return packageFolder(path) ?? [];
    });
    expect(folders.length).toBeGreaterThan(0);
    for (const folder of new Set(folders)) expect(refs, name).toContain(nameAndVersion(folder));
  }
});

test("so is what the command and the console's page are made of, and no tool", () => {
  const names = bom.components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["commander", "hono", "preact", "uplot"]));
  expect(names).toEqual([...new Set(names)]);
  for (const tool of ["vitest", "typescript", "esbuild", "dynalite"]) {
    expect(names).not.toContain(tool);
  }
});

test("each is what npm has locked, with its licence, and the package depends on it", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  for (const { name, version, purl, licenses = [], hashes = [] } of bom.components) {
    const locked = Object.entries(packages).filter(([path]) =>
      path.endsWith(`node_modules/${name}`),
    );
    expect(locked.map(([, { version: is }]) => is)).toContain(version);
    expect(purl).toBe(`pkg:npm/${name.replace("@", "%40")}@${version}`);
    expect([licenses.length > 0, hashes.length > 0], name).toEqual([true, true]);
  }
  const [self] = bom.dependencies;
  expect(self).toEqual({ ref: bom.metadata.component["bom-ref"], dependsOn: refs });
  for (const { dependsOn = [] } of bom.dependencies) {
    for (const ref of dependsOn) expect(refs).toContain(ref);
  }
});
