/** `tidemark move`: a table in use from transactions alone to native operations beside, or back. */
import { Command, Option } from "commander";
import { tableAccesses } from "../../core/table-access.ts";
import { moveTable, type Move, type MoveProgress } from "../../sdk/tables.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { withWrite, writableTargetOf, type WritingOptions } from "../target.ts";

type MoveCommandOptions = WritingOptions & { readonly access: Move["access"] };

export function moveCommand(shell: Shell): Command {
  const command = new Command("move")
    .description(
      "Moves a registered table between transactions alone and native operations beside them.",
    )
    .argument("<table>", "name of the table")
    .addOption(
      new Option("--access <who writes>", "where to").choices(tableAccesses).makeOptionMandatory(),
    );
  return withWrite(command)
    .addHelpText("after", help)
    .action(shell.act((name: string, options: MoveCommandOptions) => moved(shell, name, options)));
}

const help = `
Transactions go on meanwhile, but for a pause. It may be stopped (Ctrl-C) and begun again; with the
other --access it goes back. docs/adoption.md says when native writers may begin, and when they have
to stop.

Examples:
  tidemark move carts --access mixed
  tidemark move carts --access transactional --deployment shop --write
`;

/** Also of `tidemark tables mixed` and `tidemark tables transactional`. */
export async function moved(
  shell: Shell,
  name: string,
  options: MoveCommandOptions,
): Promise<ExitCode> {
  const { terminal } = shell;
  const where = await writableTargetOf(options, terminal);
  const signal = terminal.untilStopped();
  const { access } = options;
  const say = (text: string, state: object): void => {
    shell.answer(options, { text: () => [`${name}: ${text}`], json: () => ({ name, ...state }) });
  };
  let saidMinutes: number | undefined;
  const onProgress = (progress: MoveProgress): void => {
    const minutes = minutesLeft(progress);
    if (minutes !== undefined && minutes === saidMinutes) return;
    saidMinutes = minutes;
    say(textOf(progress), stateOf(progress));
  };
  try {
    await moveTable(where, { name, access }, { signal, onProgress });
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    say("stopped on its way; begin again to go on, or back", { kind: "stopped" });
    return 130;
  }
}

function stateOf(progress: MoveProgress): object {
  if (progress.kind !== "entered") return progress;
  const { access, move } = progress.state;
  return { kind: "entered", access, move };
}

function minutesLeft(progress: MoveProgress): number | undefined {
  return progress.kind === "waiting" ? Math.ceil(progress.leftMs / 60_000) : undefined;
}

function textOf(progress: MoveProgress): string {
  switch (progress.kind) {
    case "entered": {
      const { access, move } = progress.state;
      if (move === undefined) return `is ${access}`;
      return `${meanings[move.stage]} (${move.stage}, on its way to ${move.to})`;
    }
    case "waiting": {
      const seconds = Math.ceil(progress.leftMs / 1_000);
      return seconds <= 60 ? `${seconds} s left` : `${Math.ceil(seconds / 60)} min left`;
    }
    case "settled":
      return "what was committed is installed";
    case "swept":
      return `swept ${progress.swept} items, ${progress.waiting} have to wait`;
  }
}

const meanings = {
  closed: "commits to it wait",
  guarded: "transactions go on; no native writes",
  sweeping: "transactions go on; no native writes yet",
  tidying: "transactions go on, as ever",
} as const;
