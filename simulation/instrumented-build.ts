/**
 * Builds the simulator and all that it runs into one file. On the way two things are done to the
 * product's sources, from outside: comments of the form `// probe: some-name`, which mark branches
 * that are rarely taken, become calls that count; and a mutant's patches are applied, for sweeps
 * that must fail.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

export type Patch = {
  /** From the root of the project. */
  readonly file: string;
  /** Must stand in the file exactly once. */
  readonly find: string;
  readonly replace: string;
};

export type InstrumentedBuild = {
  /** The bundle, for a plain Node process. */
  readonly file: string;
  /** Every probe in it. */
  readonly probes: readonly string[];
};

const root = fileURLToPath(new URL("..", import.meta.url));
const probePattern = /\/\/ probe: ([a-z0-9-]+)$/gmu;

/** A patch that does not fit: the source has changed, and the mutant with it must. */
export class PatchError extends Error {
  override readonly name = "PatchError";
}

/**
 * @param name distinguishes the files of builds that are used side by side.
 * @throws PatchError for a patch whose text is not in its file exactly once.
 */
export async function buildInstrumented(options: {
  readonly name: string;
  readonly patches?: readonly Patch[];
}): Promise<InstrumentedBuild> {
  const probes = new Set<string>();
  const patches = options.patches ?? [];
  const applied = new Set<Patch>();
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
    plugins: [instrumentation({ patches, probes, applied })],
  });
  const missing = patches.find((patch) => !applied.has(patch));
  if (missing !== undefined) throw new PatchError(`${missing.file} is not part of the simulation`);
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
  readonly patches: readonly Patch[];
  readonly probes: Set<string>;
  readonly applied: Set<Patch>;
}): Plugin {
  return {
    name: "instrumentation",
    setup(building) {
      building.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const file = relative(root, path);
        let contents = await readFile(path, "utf8");
        for (const patch of parts.patches) {
          if (patch.file !== file) continue;
          contents = patched(contents, patch);
          parts.applied.add(patch);
        }
        contents = contents.replace(probePattern, (_comment, name: string) => {
          parts.probes.add(name);
          return `globalThis.tidemarkProbe?.(${JSON.stringify(name)});`;
        });
        return { contents, loader: "ts" };
      });
    },
  };
}

function patched(text: string, { file, find, replace }: Patch): string {
  const at = text.indexOf(find);
  if (at < 0) throw new PatchError(`${file} does not contain: ${find}`);
  if (text.includes(find, at + 1)) throw new PatchError(`${file} contains more than once: ${find}`);
  return text.slice(0, at) + replace + text.slice(at + find.length);
}
