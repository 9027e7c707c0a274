/** `tidemark base`: BASE transactions that are open, and letting parked ones go on. */
import { Command } from "commander";
import { InvalidRequestError } from "../../core/errors.ts";
import { connect } from "../../sdk/connect.ts";
import { oneBase, openBases, takesBases } from "../deployment/bases.ts";
import { withDeployment } from "../deployment/deployment.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import {
  targetOf,
  withTarget,
  withWrite,
  writableTargetOf,
  type TargetOptions,
  type WritingOptions,
} from "../target.ts";
import { baseListJson, baseListLines, oneBaseJson, oneBaseLines } from "../views/bases.ts";

export function baseCommand(shell: Shell): Command {
  return new Command("base")
    .description("BASE transactions: those that are open, what each has done, and parked ones.")
    .addCommand(showCommand(shell), { isDefault: true })
    .addCommand(resumeCommand(shell))
    .addHelpText("after", help);
}

const help = `
Without a further word, or with a handler's name, it lists what is open; with name and id it shows
one, also one that is over, for a week.

Examples:
  tidemark base
  tidemark base create-order
  tidemark base create-order order-17
  tidemark base resume create-order order-17 --deployment shop --write
`;

function showCommand(shell: Shell): Command {
  const command = new Command("show")
    .description("Lists those that are open, or shows one.")
    .argument("[name]", "the handler's name, as defineBase has it")
    .argument("[id]", "the transaction's id");
  return withTarget(command)
    .addHelpText("after", showHelp)
    .action(
      shell.act((name: string | undefined, id: string | undefined, options: TargetOptions) =>
        name !== undefined && id !== undefined
          ? showOne(shell, { name, id }, options)
          : list(shell, name, options),
      ),
    );
}

const showHelp = `
It tells what is installed of their records, and so may be a little behind. One that is parked has
failed again and again, or takes other steps than before; it holds its items, and nobody runs it.
One that has ended waits for those that it has read from.

Exit code: 1 if one is parked, else 0.

Examples:
  tidemark base show
  tidemark base show create-order --json
  tidemark base show create-order order-17 --deployment shop
`;

async function list(
  shell: Shell,
  name: string | undefined,
  options: TargetOptions,
): Promise<ExitCode> {
  const { terminal } = shell;
  return withDeployment(await targetOf(options, terminal), async (deployment) => {
    const seen = await openBases(deployment, name);
    const nowMs = terminal.clock.nowMs();
    const shown = { ...seen, nowMs, isTaken: takesBases(deployment) };
    shell.answer(options, {
      text: () => baseListLines(shown, terminal.styles),
      json: () => baseListJson(shown),
    });
    return seen.bases.some(({ phase }) => phase === "parked") ? 1 : 0;
  });
}

type Named = { readonly name: string; readonly id: string };

async function showOne(shell: Shell, named: Named, options: TargetOptions): Promise<ExitCode> {
  const { terminal } = shell;
  return withDeployment(await targetOf(options, terminal), async (deployment) => {
    const base = await oneBase(deployment, named);
    shell.answer(options, {
      text: () => oneBaseLines(base, terminal.clock.nowMs(), terminal.styles),
      json: () => oneBaseJson(base),
    });
    return base.phase === "parked" ? 1 : 0;
  });
}

function resumeCommand(shell: Shell): Command {
  const command = new Command("resume")
    .description("Lets one go on that is parked: the next runner with its handler takes it over.")
    .argument("<name>", "the handler's name, as defineBase has it")
    .argument("<id>", "the transaction's id");
  return withWrite(command)
    .addHelpText("after", resumeHelp)
    .action(
      shell.act((name: string, id: string, options: WritingOptions) =>
        resume(shell, { name, id }, options),
      ),
    );
}

const resumeHelp = `
Put right first what it has failed with: the handler as it is deployed where it runs, or what that
calls. Its failures are counted anew from then on. Of one that is not parked nothing is changed.

Examples:
  tidemark base resume create-order order-17
  tidemark base resume create-order order-17 --deployment shop --write
`;

async function resume(shell: Shell, named: Named, options: WritingOptions): Promise<ExitCode> {
  const connection = await connect(await writableTargetOf(options, shell.terminal));
  try {
    const bases = await connection.engine.base();
    const isResumed = await bases.resume(named);
    const { name, id } = named;
    if (!isResumed && (await bases.status(named)) === undefined) {
      throw new InvalidRequestError("id", `there is no BASE transaction ${name}/${id}`);
    }
    const text = isResumed ? "goes on with the next runner" : "is not parked; nothing is changed";
    shell.answer(options, {
      text: () => [`${name} ${id} ${text}`],
      json: () => ({ name, id, isResumed }),
    });
    return 0;
  } finally {
    await connection.engine.close();
    await connection.close();
  }
}
