/** `tidemark completion`: what makes a shell complete commands and options. */
import { Argument, Command } from "commander";
import { completionScript, shells, type ShellName } from "../shell/completion.ts";
import type { Shell } from "../shell/shell.ts";

export function completionCommand(shell: Shell): Command {
  return new Command("completion")
    .description("Prints a script that completes commands and options in a shell.")
    .addArgument(new Argument("<shell>", "which").choices(shells))
    .option("--json", "the script as one text of JSON")
    .addHelpText("after", help)
    .action(
      shell.act(async (name: ShellName, options: { readonly json?: boolean }, own: Command) => {
        const script = completionScript(own.parent ?? own, name);
        shell.answer(options, {
          text: () => script.trimEnd().split("\n"),
          json: () => ({ shell: name, script }),
        });
        return Promise.resolve(0 as const);
      }),
    );
}

const help = `
It completes \`tidemark\` where that is on the path: installed globally, or by an alias of
\`npx tidemark\`.

Examples:
  tidemark completion bash > ~/.local/share/bash-completion/completions/tidemark
  tidemark completion zsh > ~/.zfunc/_tidemark
`;
