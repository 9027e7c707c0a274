/** `tidemark init`: a new project, to begin with. */
import { basename, relative, resolve } from "node:path";
import { Command } from "commander";
import { installCommands, installNote, packageSource, quoted } from "../init/package-source.ts";
import { projectFiles, projectPackages } from "../init/project-files.ts";
import { assertProjectName } from "../init/project-name.ts";
import { writeProject } from "../init/write-project.ts";
import { packageFolder, packageVersion } from "../package.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";

type InitOptions = { readonly name?: string; readonly json?: boolean };

export function initCommand(shell: Shell): Command {
  return new Command("init")
    .description("Writes a small project: a typed table, a transaction, its tests, Terraform.")
    .argument("[dir]", "the folder, which may be new", ".")
    .option("--name <name>", "the project's and its deployment's name (default: the folder's)")
    .option("--json", "answer as one line of JSON")
    .addHelpText("after", help)
    .action(
      shell.act(async (folder: string, options: InitOptions) =>
        Promise.resolve(init(shell, folder, options)),
      ),
    );
}

const help = `
TypeScript, vitest with tidemark/testing, \`npm start\` for this machine, a compose file for
LocalStack, and Terraform that uses the module of this package. Nothing is installed, and no file is
overwritten: where one of the same name is there, nothing at all is written.

Examples:
  tidemark init
  tidemark init shop
  tidemark init ../shop --name shop-orders
`;

function init(shell: Shell, dir: string, { name: said, json }: InitOptions): ExitCode {
  const { terminal } = shell;
  const folder = resolve(terminal.folder, dir);
  const name = said ?? basename(folder);
  assertProjectName(name, projectPackages);
  const files = projectFiles(name);
  writeProject(folder, files);
  const way = relative(terminal.folder, folder);
  const source = packageSource(packageFolder());
  const next = [
    ...(way === "" ? [] : [`cd ${quoted(way)}`]),
    ...installCommands(source, packageVersion()),
    "npm test",
  ];
  const note = installNote(source);
  shell.answer(
    { json },
    {
      text: () => [
        `${name}: ${files.size} files in ${folder}`,
        ...[...files.keys()].map((path) => `  ${path}`),
        `Next: ${next.join(" && ")}; README.md has the rest.`,
        ...(note === undefined ? [] : [note]),
      ],
      json: () => ({ name, folder, files: [...files.keys()], next }),
    },
  );
  return 0;
}
