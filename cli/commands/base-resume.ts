/** `tidemark base resume`: lets one go on that is parked, or all of them. */
import { Command } from "commander";
import { InvalidRequestError } from "../../core/errors.ts";
import { resumeAll } from "../../engine/base/resume-all.ts";
import * as limits from "../limits.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { withWrite, type WritingOptions } from "../target.ts";
import { resumedJson, resumedLines } from "../views/resumed-bases.ts";
import { unknownBase, withBases } from "./base-changes.ts";

type ResumeOptions = WritingOptions & { readonly all?: boolean };
type Asked = { readonly name: string | undefined; readonly id: string | undefined };

export function resumeCommand(shell: Shell): Command {
  const command = new Command("resume")
    .description(
      "Lets one go on that is parked, or all: the next runner with the handler takes it.",
    )
    .argument("[name]", "the handler's name, as defineBase has it")
    .argument("[id]", "the transaction's id")
    .option("--all", "all that are parked; with a handler's name, all of that one");
  return withWrite(command)
    .addHelpText("after", help)
    .action(
      shell.act((name: string | undefined, id: string | undefined, options: ResumeOptions) =>
        resume(shell, { name, id }, options),
      ),
    );
}

const help = `
Put right first what it has failed with: the handler as it is deployed where it runs, or what that
calls. Its failures are counted anew from then on. Of one that is not parked nothing is changed.

With --all it lets at most ${limits.resumedMax} go on, the oldest first, and says which; if more are
parked it says so.

Exit code: 1 if one of all could not be let go on, else 0.

Examples:
  tidemark base resume create-order order-17
  tidemark base resume create-order order-17 --deployment shop --write
  tidemark base resume --all --deployment shop --write
  tidemark base resume create-order --all
`;

function resume(shell: Shell, { name, id }: Asked, options: ResumeOptions): Promise<ExitCode> {
  if (options.all === true) {
    if (id === undefined) return resumeEach(shell, name, options);
    throw new InvalidRequestError("all", "name either one by its id, or all of them by --all");
  }
  if (name !== undefined && id !== undefined) return resumeOne(shell, { name, id }, options);
  throw new InvalidRequestError("id", "name one by its handler's name and its id, or add --all");
}

async function resumeOne(
  shell: Shell,
  named: { readonly name: string; readonly id: string },
  options: WritingOptions,
): Promise<ExitCode> {
  return withBases(shell, options, async (bases) => {
    const isResumed = await bases.resume(named);
    const { name, id } = named;
    if (!isResumed && (await bases.look(named)) === undefined) throw unknownBase(named);
    const text = isResumed ? "goes on with the next runner" : "is not parked; nothing is changed";
    shell.answer(options, {
      text: () => [`${name} ${id} ${text}`],
      json: () => ({ name, id, isResumed }),
    });
    return 0;
  });
}

async function resumeEach(
  shell: Shell,
  name: string | undefined,
  options: WritingOptions,
): Promise<ExitCode> {
  return withBases(shell, options, async (bases) => {
    const done = await resumeAll(bases, { name, basesMax: limits.resumedMax });
    shell.answer(options, {
      text: () => resumedLines(done, name),
      json: () => resumedJson(done),
    });
    return done.failed.length === 0 ? 0 : 1;
  });
}
