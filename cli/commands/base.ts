/** `tidemark base`: BASE transactions that are open, letting parked ones go on, and taking back. */
import { Command } from "commander";
import { InvalidRequestError } from "../../core/errors.ts";
import type { BaseStatus } from "../../engine/base/types.ts";
import { resumeCommand } from "./base-resume.ts";
import { unknownBase, withBases } from "./base-changes.ts";
import { isStuck, oneBase, openBases, takesBases } from "../../inspection/bases.ts";
import { withDeployment } from "../../inspection/deployment.ts";
import { counted } from "../../inspection/words/moments.ts";
import { similarCommand } from "../shell/suggestion.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import {
  targetOf,
  withTarget,
  withWrite,
  type TargetOptions,
  type WritingOptions,
} from "../target.ts";
import { baseListJson, baseListLines, oneBaseJson, oneBaseLines } from "../views/bases.ts";

export function baseCommand(shell: Shell): Command {
  return new Command("base")
    .description("BASE transactions: those that are open, what each has done, and parked ones.")
    .addCommand(showCommand(shell), { isDefault: true })
    .addCommand(resumeCommand(shell))
    .addCommand(cancelCommand(shell))
    .addHelpText("after", help);
}

const help = `
Without a further word, or with a handler's name, it lists what is open; with name and id it shows
one, also one that is over, for a week. An id that begins with a dash goes behind --.

Examples:
  tidemark base
  tidemark base create-order
  tidemark base create-order order-17
  tidemark base cancel create-order --write -- -17a
  tidemark base resume create-order order-17 --deployment shop --write
  tidemark base resume --all --deployment shop --write
  tidemark base cancel create-order order-18
`;

function showCommand(shell: Shell): Command {
  const command = new Command("show")
    .description("Lists those that are open, or shows one.")
    .argument("[name]", "the handler's name, as defineBase has it")
    .argument("[id]", "the transaction's id");
  return withTarget(command)
    .addHelpText("after", showHelp)
    .action(
      shell.act(
        (
          name: string | undefined,
          id: string | undefined,
          options: TargetOptions,
          own: Command,
        ) => {
          const meant = name === undefined ? undefined : similarCommand(own, name);
          return name !== undefined && id !== undefined
            ? showOne(shell, { name, id }, { ...options, meant })
            : list(shell, name, { ...options, meant });
        },
      ),
    );
}

const showHelp = `
It tells what is installed of their records, and so may be a little behind. One that is parked has
failed again and again, or takes other steps than before; it holds its items, and nobody runs it.
One that has ended waits for those that it has read from.

One that is damaged has an item that Tidemark, up to this release, has not written: its key is
told, and the others go on.

Exit code: 1 if one is parked or damaged, else 0.

Examples:
  tidemark base show
  tidemark base show create-order --json
  tidemark base show create-order order-17 --deployment shop
`;

/** A command that the handler's name is similar to. */
type ShowOptions = TargetOptions & { readonly meant: string | undefined };

/** @throws InvalidRequestError: nothing is there, and the name is a command's, misspelt. */
function orMeant<Found>({ meant }: ShowOptions, found: () => Promise<Found>): Promise<Found> {
  return found().catch((error: unknown) => {
    if (meant === undefined || !(error instanceof InvalidRequestError)) throw error;
    throw new InvalidRequestError("name", `${error.message}; did you mean \`${meant}\`?`);
  });
}

async function list(
  shell: Shell,
  name: string | undefined,
  options: ShowOptions,
): Promise<ExitCode> {
  const { terminal } = shell;
  return withDeployment(await targetOf(options, terminal), async (deployment) => {
    const seen = await openBases(deployment, name);
    if (seen.all === 0 && name !== undefined && options.meant !== undefined) {
      const none = `no BASE transaction of "${name}" is open`;
      throw new InvalidRequestError("name", `${none}; did you mean \`${options.meant}\`?`);
    }
    const nowMs = terminal.clock.nowMs();
    const shown = { ...seen, nowMs, name, isTaken: takesBases(deployment) };
    shell.answer(options, {
      text: () => baseListLines(shown, terminal.styles),
      json: () => baseListJson(shown),
    });
    return seen.bases.some(isStuck) ? 1 : 0;
  });
}

type Named = { readonly name: string; readonly id: string };

async function showOne(shell: Shell, named: Named, options: ShowOptions): Promise<ExitCode> {
  const { terminal } = shell;
  return withDeployment(await targetOf(options, terminal), async (deployment) => {
    const base = await orMeant(options, () => oneBase(deployment, named));
    shell.answer(options, {
      text: () => oneBaseLines(base, terminal.clock.nowMs(), terminal.styles),
      json: () => oneBaseJson(base),
    });
    return isStuck(base) ? 1 : 0;
  });
}

function cancelCommand(shell: Shell): Command {
  const command = new Command("cancel")
    .description("Takes one back that was asked for, as long as it has not begun.")
    .argument("<name>", "the handler's name, as defineBase has it")
    .argument("<id>", "the transaction's id");
  return withWrite(command)
    .addHelpText("after", cancelHelp)
    .action(
      shell.act((name: string, id: string, options: WritingOptions) =>
        cancel(shell, { name, id }, options),
      ),
    );
}

const cancelHelp = `
It has begun when its first step is committed; from then on it goes on to its end. Of the two one is
first: where this says that it is cancelled, nothing of it has happened, and nothing will, and its
id stays used for a week. One that is parked before its first step may be cancelled, too.

Exit code: 0 if nothing of it will ever happen; 1 if it has begun, and goes on or is over.

Examples:
  tidemark base cancel create-order order-18
  tidemark base cancel create-order order-18 --deployment shop --write
`;

async function cancel(shell: Shell, named: Named, options: WritingOptions): Promise<ExitCode> {
  return withBases(shell, options, async (bases) => {
    const status = await bases.cancel(named);
    if (status === undefined) throw unknownBase(named);
    const { name, id } = named;
    const { phase, steps } = status;
    shell.answer(options, {
      text: () => [`${name} ${id} ${cancelText(status)}`],
      json: () => ({ name, id, isCancelled: isNothing(phase), phase, steps }),
    });
    return isNothing(phase) ? 0 : 1;
  });
}

/** Nothing of it has happened, and nothing will. */
function isNothing(phase: BaseStatus["phase"]): boolean {
  return phase === "cancelled" || phase === "refused";
}

function cancelText({ phase, steps, isReleased }: BaseStatus): string {
  if (phase === "cancelled") return "is cancelled: nothing of it has happened, and nothing will";
  if (phase === "refused") return "was refused before: nothing of it has happened";
  const made = counted(steps, "step");
  if (isReleased) return `is over, with ${made}; nothing is changed`;
  return `has begun, with ${made}, and ${phase === "parked" ? "is parked" : "goes on to its end"}`;
}
