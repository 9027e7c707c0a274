/** `tidemark move`: a table in use from transactions alone to native operations beside, or back. */
import { Command, Option } from "commander";
import { tableAccesses } from "../core/table-access.ts";
import { moveTable, type Move, type MoveProgress } from "../sdk/tables.ts";
import { orSaid, targetOf, withTarget, type TargetOptions } from "./target.ts";

type Options = TargetOptions & { readonly access: Move["access"] };

export function moveCommand(): Command {
  const command = new Command("move")
    .description(
      "Moves a registered table between transactions alone and native operations beside them.",
    )
    .argument("<table>", "name of the table")
    .addOption(
      new Option("--access <who writes>", "where to").choices(tableAccesses).makeOptionMandatory(),
    );
  return withTarget(command)
    .addHelpText(
      "after",
      "\nTransactions go on meanwhile, but for a pause. It may be stopped (Ctrl-C) and begun " +
        "again;\nwith the other --access it goes back. docs/adoption.md says when native writers " +
        "may begin,\nand when they have to stop.\n",
    )
    .showHelpAfterError("(tidemark move --help shows all options)")
    .allowExcessArguments(false)
    .action(async (name: string, options: Options) => {
      const stop = new AbortController();
      process.once("SIGINT", () => {
        stop.abort(new Error("stopped"));
      });
      await orSaid(async () => {
        try {
          await moved(name, options, stop.signal);
        } catch (error) {
          if (!stop.signal.aborted) throw error;
          process.stdout.write(`${name}: stopped on its way; begin again to go on, or back\n`);
          process.exitCode = 130;
        }
      });
    });
}

async function moved(name: string, options: Options, signal: AbortSignal): Promise<void> {
  const { access } = options;
  const say = (text: string): void => void process.stdout.write(`${name}: ${text}\n`);
  let saidMinutes: number | undefined;
  await moveTable(
    await targetOf(options),
    { name, access },
    {
      signal,
      onProgress: (progress) => {
        const minutes = minutesLeft(progress);
        if (minutes !== undefined && minutes === saidMinutes) return;
        saidMinutes = minutes;
        say(textOf(progress));
      },
    },
  );
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
