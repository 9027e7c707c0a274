/**
 * Builds the simulator and all that it runs into one file. On the way two things are done to the
 * product's sources, from outside: comments of the form `// probe: some-name`, which mark branches
 * that are rarely taken, become calls that count; and the places that a mutant's marks name are
 * changed, for sweeps that must fail.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { MutantError, edited, marksIn } from "./mutants/marked-places.ts";
import { editsOf, type Edit, type Mutant } from "./mutants/mutant.ts";

export type InstrumentedBuild = {
  /** The bundle, for a plain Node process. */
  readonly file: string;
  /** Every probe in it. */
  readonly probes: readonly string[];
};

const root = fileURLToPath(new URL("..", import.meta.url));
const probePattern = /\/\/ probe: ([a-z0-9-]+)$/gmu;

/**
 * @param name distinguishes the files of builds that are used side by side.
 * @throws MutantError for a mutant that changes nothing here.
 */
export async function buildInstrumented(options: {
  readonly name: string;
  readonly mutant?: Mutant | undefined;
}): Promise<InstrumentedBuild> {
  const probes = new Set<string>();
  const edits = options.mutant === undefined ? new Map<string, Edit>() : editsOf(options.mutant);
  const found = new Set<string>();
  const built = await build({
    entryPoints: [join(root, "simulation", "seed-process.ts")],
    write: false,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    sourcemap: "inline",
    logLevel: "silent",
    plugins: [instrumentation({ edits, probes, found })],
  });
  const missing = [...edits.keys()].find((name) => !found.has(name));
  if (missing !== undefined)
    throw new MutantError(`nothing in the simulation is marked ${missing}`);
  const file = await written(options.name, built.outputFiles[0]?.contents ?? new Uint8Array(0));
  return { file, probes: [...probes].sort() };
}

/**
 * Named by its content, and put in place as a whole: a run of another version may be using the
 * folder too.
 */
async function written(name: string, contents: Uint8Array): Promise<string> {
  const folder = join(root, ".cache", "simulation");
  const digest = createHash("sha256").update(contents).digest("hex").slice(0, 12);
  const file = join(folder, `${name}-${digest}.mjs`);
  await mkdir(folder, { recursive: true });
  await writeFile(`${file}.${process.pid.toString()}`, contents);
  await rename(`${file}.${process.pid.toString()}`, file);
  return file;
}

function instrumentation(parts: {
  readonly edits: ReadonlyMap<string, Edit>;
  readonly probes: Set<string>;
  /** Marks that were met; filled on the way, like the probes. */
  readonly found: Set<string>;
}): Plugin {
  return {
    name: "instrumentation",
    setup(building) {
      building.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const file = relative(root, path);
        const text = await readFile(path, "utf8");
        for (const { name } of marksIn(text)) parts.found.add(name);
        let contents = edited(file, text, parts.edits);
        contents = contents.replace(probePattern, (_comment, name: string) => {
          parts.probes.add(name);
          return `globalThis.tidemarkProbe?.(${JSON.stringify(name)});`;
        });
        return { contents, loader: "ts" };
      });
    },
  };
}
