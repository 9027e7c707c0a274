/**
 * What has one source and is repeated where that cannot be imported: the package's entries
 * (`entrySources` of scripts/public-api.ts) in two manifests, and the port of the local API in what
 * users copy and read.
 */
import { z } from "zod";
import type { Tree } from "./source-facts.ts";

const exportSchema = z.object({
  import: z.object({ types: z.string(), default: z.string() }),
  require: z.object({ types: z.string(), default: z.string() }),
});
const packageSchema = z.object({
  exports: z.record(z.string(), z.union([z.string(), exportSchema])),
  typesVersions: z.object({ "*": z.record(z.string(), z.array(z.string())) }),
});
const compilerSchema = z.object({ files: z.array(z.string()) });

export function entryViolations(tree: Tree, sources: Readonly<Record<string, string>>): string[] {
  const manifest = packageSchema.parse(JSON.parse(tree.get("package.json") ?? ""));
  const { files } = compilerSchema.parse(JSON.parse(tree.get("tsconfig.sdk.json") ?? ""));
  const wanted = Object.entries(sources).map(([name, source]) => {
    const built = (kind: string, end: string) => `./dist/${kind}/${source.replace(/\.ts$/u, end)}`;
    const at = name.replace(/^tidemark\/?/u, "");
    const forms = (kind: string) => ({
      types: built(kind, ".d.ts"),
      default: built(kind, ".js"),
    });
    return { at, exported: { import: forms("esm"), require: forms("cjs") } };
  });
  const exported = Object.fromEntries<unknown>([
    ...wanted.map((each) => [each.at === "" ? "." : `./${each.at}`, each.exported] as const),
    ["./package.json", "./package.json"],
  ]);
  const named = wanted.filter(({ at }) => at !== "");
  const types = Object.fromEntries(
    named.map((each) => [each.at, [each.exported.require.types]] as const),
  );
  return [
    ...differences("package.json: exports", manifest.exports, exported),
    ...differences("package.json: typesVersions", manifest.typesVersions["*"], types),
    ...differences("tsconfig.sdk.json: files", listed(files), listed(Object.values(sources))),
  ];
}

/** Other loopback ports than the API's own, in what shows users how a client is made. */
export function portViolations(tree: Tree, apiPort: number): string[] {
  return [...tree].flatMap(([path, text]) =>
    /^(?:sdk|demo|examples|cli\/init)\/.*\.ts$/u.test(path)
      ? [...text.matchAll(/127\.0\.0\.1:(\d+)/gu)]
          .filter(([, port]) => port !== apiPort.toString())
          .map(([address]) => `${path}: ${address}, and the API listens at ${apiPort}`)
      : [],
  );
}

function listed(paths: readonly string[]): Readonly<Record<string, true>> {
  return Object.fromEntries(paths.map((path) => [path, true as const]));
}

function differences(
  where: string,
  found: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
): string[] {
  return [...new Set([...Object.keys(found), ...Object.keys(wanted)])]
    .filter((name) => JSON.stringify(found[name]) !== JSON.stringify(wanted[name]))
    .map((name) => `${where}: ${name} is not as scripts/public-api.ts has it`);
}
