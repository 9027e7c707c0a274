/** `tidemark conflicts`: keys that transactions fight over. */
import { Command, Option } from "commander";
import { withDeployment } from "../../inspection/deployment.ts";
import { hotKeys } from "../../inspection/hot-keys.ts";
import * as inspectionLimits from "../../inspection/limits.ts";
import * as cliLimits from "../limits.ts";
import { span, whole } from "../shell/arguments.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type TargetOptions } from "../target.ts";
import { conflictsJson, conflictsLines } from "../views/conflicts.ts";

type ConflictsOptions = TargetOptions & {
  readonly since: number;
  readonly rows: number;
  readonly table?: string;
  readonly payloads?: boolean;
};

const usualSinceMs = 10 * 60_000;

export function conflictsCommand(shell: Shell): Command {
  const command = new Command("conflicts").description(
    "Hot keys: what is written most, and by what others were aborted or had to wait.",
  );
  return withTarget(command)
    .addOption(
      new Option("--since <span>", "how far back to look")
        .argParser(span(9 * cliLimits.windowSecondsMax))
        .default(usualSinceMs, "10m"),
    )
    .option("--table <name>", "keys of this table alone")
    .option(
      "--rows <number>",
      "how many keys",
      whole(1, inspectionLimits.rowsMax),
      cliLimits.rowsDefault,
    )
    .option("--payloads", "read payloads that lie elsewhere, to name all keys")
    .addHelpText("after", help)
    .action(shell.act((options: ConflictsOptions) => conflicts(shell, options)));
}

const help = `
What the log can tell, and what not:
  written   commits that wrote the key
  lost      transactions that the oracle aborted for a write of it: the verdict names the winning
            commit, and that wrote this key alone
  perhaps   the same, where the winner wrote several keys: the conflict was at one of them
  retried   runs in vain of the transactions that wrote it in the end, whatever key it was about;
            at least so many (≥) where not all of their payloads are at hand
  waited    requests that met an open transaction which writes it, and were sent again
Most conflicts never reach the log: a client finds one in its own tail, or its block came second,
and it runs again. Of those \`retried\` tells alone. The keys that they were about, and those that
gave up, the SDK's events tell (\`onEvent\`).

Keys of Tidemark's own tables are left out, unless somebody has lost or waited there.

Keys are hashes there. They are named by payloads: those in clients' own blocks are at hand; those
of requests by the stream are read with --payloads, one for each key, which takes that right, and
reads of the five a second that a Kinesis shard gives.

Examples:
  tidemark conflicts
  tidemark conflicts --since 1h --table orders --rows 50
  tidemark conflicts --payloads --json --deployment shop
`;

async function conflicts(shell: Shell, options: ConflictsOptions): Promise<ExitCode> {
  const { terminal } = shell;
  const where = await targetOf(options, terminal);
  return withDeployment(where, async (deployment): Promise<ExitCode> => {
    const found = await hotKeys(deployment, {
      sinceMs: terminal.clock.nowMs() - options.since,
      table: options.table,
      rows: options.rows,
      readsElsewhere: options.payloads === true,
    });
    const { more: _more, ...shown } = found;
    const view = { ...shown, sinceMs: options.since };
    shell.answer(options, {
      text: () => conflictsLines(view, terminal.styles),
      json: () => conflictsJson(view),
    });
    return 0;
  });
}
