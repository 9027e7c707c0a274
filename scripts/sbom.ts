/**
 * `npm run sbom`: writes a bill of materials, in CycloneDX's format, of what is in the package:
 * it has no dependency that npm would install, but its command and its functions are bundles, with
 * parts of other packages in them. Peers are the application's own; they are named as properties.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import packageJson from "../package.json" with { type: "json" };
import { buildCli } from "./build-cli.ts";
import { bundleFunction, functionNames } from "./function-bundles.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

type Component = {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly scope?: string;
  readonly hashes?: readonly object[];
  readonly licenses?: readonly object[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
};

type Dependency = { readonly ref: string; readonly dependsOn?: readonly string[] };

export type Bom = {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
};

/** What npm says of all that is installed here, which is what the bundles are made of. */
function installed(): Bom {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "library"];
  const options = { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 } as const;
  return JSON.parse(execFileSync("npm", args, options)) as Bom;
}

/** Packages that have a part in the command or in a function. */
async function bundled(): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-sbom-"));
  try {
    const { packages } = await buildCli(folder);
    const functions = await Promise.all(functionNames().map(bundleFunction));
    return [...new Set([...packages, ...functions.flatMap((each) => each.packages)])].sort();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws when a package has a part in a bundle that npm does not know of. */
export async function billOfMaterials(): Promise<Bom> {
  const whole = installed();
  const wanted = await bundled();
  const known = new Map(whole.components.map((each) => [each["bom-ref"], each]));
  const components = wanted.map((ref) => {
    const component = known.get(ref);
    if (component === undefined) throw new Error(`sbom: npm knows nothing of ${ref}`);
    // npm calls it a development dependency: it is one of the clone, not of who gets the bundle.
    const properties = (component.properties ?? []).filter(
      ({ name }) => name !== "cdx:npm:package:development",
    );
    return { ...component, scope: "required", properties };
  });
  const { component } = whole.metadata;
  const peers = Object.entries(packageJson.peerDependencies).map(([name, range]) => ({
    ...{ name: "tidemark:peer", value: `${name}@${range}` },
  }));
  // npm calls it by its folder.
  const self = { ...component, name: packageJson.name, properties: peers };
  const among = new Set(wanted);
  const dependencies = whole.dependencies
    .filter(({ ref }) => among.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((on) => among.has(on)),
    }));
  return {
    ...whole,
    metadata: { ...whole.metadata, component: self },
    components,
    dependencies: [{ ref: component["bom-ref"], dependsOn: wanted }, ...dependencies],
  };
}

async function main(): Promise<void> {
  const folder = join(root, "release");
  mkdirSync(folder, { recursive: true });
  const bom = await billOfMaterials();
  writeFileSync(join(folder, "tidemark.cdx.json"), `${JSON.stringify(bom, null, 2)}\n`);
  console.log(`release/tidemark.cdx.json: ${bom.components.length} packages`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
