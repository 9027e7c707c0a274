/**
 * One zip per Lambda function, in memory: its handler and everything that it imports, the AWS SDK's
 * parts included, as one ES module, and the notices of what is bundled (notices.ts). Lambda's
 * runtime has an AWS SDK too, but of a version that nobody tested with this code.
 *
 * The same sources give the same bytes, on every machine and in every time zone, so Terraform sees
 * a change exactly when there is one. Identifiers are not shortened: a stack trace names functions
 * without a source map.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { zipSync } from "fflate";
import { bundledPackages } from "./bundled-packages.ts";
import { noticeFile, noticesOf } from "./notices.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A zip's module, as the Lambda runtime looks for it: its setting `handler` is `index.handler`. */
export const bundleModule = "index.mjs";

/** What one zip may take. Cold starts grow with it. */
export const functionZipBytesMax = 1024 * 1024;

export type FunctionBundle = {
  readonly name: string;
  readonly zip: Uint8Array;
  /** Bytes of the module inside. */
  readonly moduleBytes: number;
  /** What the module imports when it runs: Node's own modules, if all is well. */
  readonly imports: readonly string[];
  readonly sourceMap: Uint8Array;
  /** Packages that have a part in it, as `name@version`. */
  readonly packages: readonly string[];
};

/** The functions, by the names of their folders. */
export function functionNames(): readonly string[] {
  return readdirSync(join(root, "functions"), { recursive: true, encoding: "utf8" })
    .flatMap((path) => /^([a-z-]+)[\\/]handler\.ts$/.exec(path)?.[1] ?? [])
    .sort();
}

/**
 * Some of the SDK's dependencies are CommonJS and ask for Node's own modules by `require`, which an
 * ES module has not got.
 */
export const requireBanner =
  'import { createRequire as nodeCreateRequire } from "node:module";const require = ' +
  "nodeCreateRequire(import.meta.url);";

/** @throws when the handler does not bundle, or not without a warning. */
export async function bundleFunction(name: string): Promise<FunctionBundle> {
  const { outputFiles, metafile, warnings } = await build({
    entryPoints: [join("functions", name, "handler.ts")],
    absWorkingDir: root,
    outfile: join("dist", "functions", name, bundleModule),
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    target: "node22",
    format: "esm",
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    // Apart, and not named in the module: nothing on Lambda would read it.
    sourcemap: "external",
    sourcesContent: false,
    banner: { js: requireBanner },
    logLevel: "silent",
  });
  const [warning] = warnings;
  if (warning !== undefined) throw new Error(`${name}: ${warning.text}`);
  const module = outputFiles.find(({ path }) => path.endsWith(bundleModule));
  const sourceMap = outputFiles.find(({ path }) => path.endsWith(".map"));
  if (module === undefined || sourceMap === undefined) throw new Error(`${name}: no output`);
  return {
    name,
    zip: zipped(module.contents, noticesOf(metafile)),
    moduleBytes: module.contents.byteLength,
    imports: Object.values(metafile.outputs).flatMap(({ imports }) =>
      imports.map(({ path }) => path),
    ),
    sourceMap: sourceMap.contents,
    packages: bundledPackages(metafile),
  };
}

function zipped(module: Uint8Array, notices: string): Uint8Array {
  return zipSync(
    { [bundleModule]: module, [noticeFile]: Buffer.from(notices) },
    {
      level: 9,
      // A zip's times are local: these are the same digits everywhere.
      mtime: new Date(1980, 0, 1),
      // Readable by all: Lambda runs as another user. The upper half is the Unix mode of a file; 3
      // is Unix.
      os: 3,
      attrs: (0o100644 << 16) >>> 0,
    },
  );
}
