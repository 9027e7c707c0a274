/** What `tidemark init` writes: the template's files under a project's name, and its manifest. */
import { manifest, templateFiles } from "../package.ts";

/** Stands in the template wherever the project's name belongs. */
const placeholder = "my-tidemark-app";

/** The template is type-checked and linted with this tree, whose tools would obey these. */
const realNames: ReadonlyMap<string, string> = new Map([
  ["_gitignore", ".gitignore"],
  ["_tsconfig.json", "tsconfig.json"],
]);

const dependencies = ["@aws-sdk/client-dynamodb", "@aws-sdk/client-kinesis"];
const devDependencies = ["@types/node", "dynalite", "kinesalite", "tsx", "typescript", "vitest"];

/** What the project installs. */
export const projectPackages: readonly string[] = ["tidemark", ...dependencies, ...devDependencies];

/** By their path from the project's folder on; in the order in which they are to be read. */
export function projectFiles(name: string): ReadonlyMap<string, string> {
  const files = [...templateFiles()].map(
    ([path, text]) => [realNames.get(path) ?? path, text.replaceAll(placeholder, name)] as const,
  );
  return new Map([["package.json", manifestText(name)], ...files.sort(byPath)]);
}

function byPath([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return one < other ? -1 : 1;
}

/** The versions are those that this package is tested with. */
function manifestText(name: string): string {
  const own = manifest();
  const ranges = (names: readonly string[]): readonly (readonly [string, string])[] =>
    names.map((each) => [each, own.devDependencies[each] ?? "*"] as const);
  const project = {
    name,
    version: "0.0.0",
    private: true,
    type: "module",
    engines: own.engines,
    scripts: { start: "tidemark start", test: "vitest run", typecheck: "tsc" },
    dependencies: Object.fromEntries([...ranges(dependencies), ["tidemark", own.version]]),
    devDependencies: Object.fromEntries(ranges(devDependencies)),
    // Which of them may run a script of their own when they are installed: npm asks otherwise.
    allowScripts: own.allowScripts,
  };
  return `${JSON.stringify(project, undefined, 2)}\n`;
}
