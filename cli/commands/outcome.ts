/** `tidemark outcome`: what became of a transaction. */
import { Command } from "commander";
import { createClient } from "../../sdk/index.ts";
import type { TransactionId } from "../../core/types.ts";
import { parseTransactionId } from "../../schemas/transaction-id-text.ts";
import { withDeployment } from "../../inspection/deployment.ts";
import { decisionOn, standingOf } from "../../inspection/decision.ts";
import { Names } from "../../inspection/names.ts";
import * as inspectionLimits from "../../inspection/limits.ts";
import * as cliLimits from "../limits.ts";
import { whole } from "../shell/arguments.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type WritingOptions } from "../target.ts";
import { outcomeJson, outcomeLines, type OutcomeView } from "../views/outcome.ts";

type OutcomeOptions = WritingOptions & { readonly pages: number; readonly items?: boolean };

export function outcomeCommand(shell: Shell): Command {
  const command = new Command("outcome")
    .description("What became of a transaction: committed, aborted and why, or still open.")
    .argument("<id>", "the transaction's id, of a receipt or a CommitUnknownError");
  return withTarget(command)
    .option(
      "--pages <number>",
      "pages of each log, of 1 MB, that may be read for it",
      whole(1, inspectionLimits.blocksMax),
      cliLimits.searchPagesDefault,
    )
    .option("--items", "show the items that it has written")
    .option("--write", "have it decided for good if it is not: it is aborted then")
    .addHelpText("after", help)
    .action(shell.act((id: string, options: OutcomeOptions) => outcome(shell, id, options)));
}

const help = `
Without --write it only looks: the logs are read from the id's own time on. An id that no log has
decided may still commit, as long as a copy of it is on its way. With --write it is settled as by
db.outcome(id) of the SDK, and what is not decided can never commit from then on. That takes the
right to commit. The logs go back eight days.

Keys are told from payloads; of requests by the stream that takes the right to read it.

Exit code: 0 if it is decided, whichever way; 1 if it is not.

Examples:
  tidemark outcome 0663a4b7e8c9d10a0b1c2d3e4f506172
  tidemark outcome 0663a4b7e8c9d10a0b1c2d3e4f506172 --items --json
  tidemark outcome 0663a4b7e8c9d10a0b1c2d3e4f506172 --write --deployment shop
`;

async function outcome(shell: Shell, text: string, options: OutcomeOptions): Promise<ExitCode> {
  const { terminal } = shell;
  const id = parseTransactionId(text);
  const where = await targetOf(options, terminal);
  if (options.write === true) await settle(where, id);
  return withDeployment(where, async (deployment): Promise<ExitCode> => {
    const known = await decisionOn(deployment, id, options.pages);
    const names = new Names(deployment);
    const view: OutcomeView = {
      known,
      standing: standingOf(known),
      isSharded: deployment.logs.length > 1,
      showsItems: options.items === true,
      nowMs: terminal.clock.nowMs(),
      written: await Promise.all(
        known.logs.map(async ({ log, decision, prepared }) => {
          const verdict = decision?.verdict.kind === "committed" ? decision.verdict : undefined;
          const told = verdict ?? prepared?.verdict;
          return told === undefined ? undefined : await names.writes(log, told);
        }),
      ),
      won: await Promise.all(
        known.logs.map(async ({ log, winner }) =>
          winner === undefined ? undefined : await names.writes(log, winner.verdict),
        ),
      ),
    };
    shell.answer(options, {
      text: () => outcomeLines(view, terminal.styles),
      json: () => outcomeJson(view),
    });
    return view.standing === "committed" || view.standing === "aborted" ? 0 : 1;
  });
}

async function settle(where: Parameters<typeof createClient>[0], id: TransactionId): Promise<void> {
  const client = createClient(where);
  try {
    await client.outcome(id);
  } finally {
    await client.close();
  }
}
