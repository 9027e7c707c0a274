/** `tidemark audit`: whether logs and tables hold what they must. */
import { Command } from "commander";
import { readDeadLetters, type FoundLetter } from "../../aws/dead-letters.ts";
import { createClientDynamoDb } from "../../aws/dynamodb.ts";
import { denied, ifAllowed, type Allowed } from "../../inspection/allowed.ts";
import { audited } from "../../inspection/audit.ts";
import { withDeployment, type Deployment } from "../../inspection/deployment.ts";
import { Names } from "../../inspection/names.ts";
import * as inspectionLimits from "../../inspection/limits.ts";
import * as cliLimits from "../limits.ts";
import { whole } from "../shell/arguments.ts";
import { counted } from "../../inspection/words/moments.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type TargetOptions } from "../target.ts";
import { auditJson, auditLines } from "../views/audit.ts";

type AuditOptions = TargetOptions & {
  readonly blocks: number;
  readonly items: number;
  readonly payloads?: boolean;
};

const usualBlocks = 1_000;
/** Items between two words of progress. */
const progressStep = 50;
const clearedLine = "\r\u001b[K";

export function auditCommand(shell: Shell): Command {
  const command = new Command("audit").description(
    "Holds the newest blocks of the logs against each other and against the tables.",
  );
  return withTarget(command)
    .option(
      "-n, --blocks <number>",
      "how many of the newest blocks of each log",
      whole(1, inspectionLimits.blocksMax),
      usualBlocks,
    )
    .option(
      "--items <number>",
      "how many items to read back",
      whole(0, cliLimits.auditItemsMax),
      cliLimits.auditItemsDefault,
    )
    .option("--payloads", "read payloads that lie elsewhere, to know all keys")
    .addHelpText("after", help)
    .action(shell.act((options: AuditOptions) => audit(shell, options)));
}

const help = `
It looks whether
  - blocks decode, leave no position out, and begin where the one before ends (I1, I2);
  - no transaction is decided twice in a log, or otherwise in another one (I3);
  - what the watermark has passed is installed: each item that was written last by such a commit is
    read, and is at that version or a newer one (I7);
  - no item is at a version above the logs' ends;
and lists dead letters. Nothing is said of mixed tables, whose items native writes may replace, nor
of what lies further back. Keys come from payloads: without --payloads from those in clients' own
blocks alone. Who writes mixed tables unaware of transactions tells the function \`auditor\`.

Exit code: 1 if there is a fault or a dead letter, else 0.

Examples:
  tidemark audit
  tidemark audit -n 10000 --items 20000 --payloads
  tidemark audit --deployment shop --json
`;

async function audit(shell: Shell, options: AuditOptions): Promise<ExitCode> {
  const { terminal } = shell;
  return withDeployment(
    await targetOf(options, terminal),
    async (deployment): Promise<ExitCode> => {
      const found = await audited(deployment, new Names(deployment), {
        blocksMax: options.blocks,
        itemsMax: options.items,
        readsPayloads: options.payloads === true,
        onItem: (done, all) => {
          if (terminal.showsProgress && done % progressStep === 0) {
            terminal.say(`\r${done} of ${counted(all, "item")} read back`);
          }
        },
      });
      if (terminal.showsProgress) terminal.say(clearedLine);
      const letters = await lettersOf(deployment);
      const view = { ...found, letters };
      shell.answer(options, {
        text: () => auditLines(view, terminal.styles),
        json: () => auditJson(view),
      });
      const isIll = found.faults.length > 0 || (letters !== denied && letters.length > 0);
      return isIll ? 1 : 0;
    },
  );
}

function lettersOf({ ports, clients, logs }: Deployment): Promise<Allowed<readonly FoundLetter[]>> {
  const where = {
    dynamodb: createClientDynamoDb(clients.dynamodb),
    table: ports.names.controlTable,
  };
  return ifAllowed(async () => {
    const each = logs.map(({ shard }) => readDeadLetters(where, shard, inspectionLimits.rowsMax));
    return (await Promise.all(each)).flat();
  });
}
