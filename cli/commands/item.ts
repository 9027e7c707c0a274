/** `tidemark item`: one item over time, and what is on its way to it. */
import { Command } from "commander";
import { tableNamed, withDeployment } from "../../inspection/deployment.ts";
import { itemHistory } from "../../inspection/item-history.ts";
import { Names } from "../../inspection/names.ts";
import * as inspectionLimits from "../../inspection/limits.ts";
import * as cliLimits from "../limits.ts";
import { whole } from "../shell/arguments.ts";
import { keyFrom } from "../../inspection/words/keys.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type TargetOptions } from "../target.ts";
import { itemHistoryJson, itemHistoryLines } from "../views/item.ts";

type ItemOptions = TargetOptions & { readonly versions: number; readonly blocks: number };

const usualBlocks = 1_000;

export function itemCommand(shell: Shell): Command {
  const command = new Command("item")
    .description(
      "One item: as it is stored, what is committed or open on it, who holds it, and its past.",
    )
    .argument("<table>", "a registered table")
    .argument("<key...>", "the item's key: its value, or two where there is a sort key; or JSON");
  return withTarget(command)
    .option(
      "--versions <number>",
      "at most so many versions",
      whole(1, inspectionLimits.rowsMax),
      cliLimits.rowsDefault,
    )
    .option(
      "-n, --blocks <number>",
      "how many of the newest blocks of its shard to look through",
      whole(1, inspectionLimits.blocksMax),
      usualBlocks,
    )
    .addHelpText("after", help)
    .action(
      shell.act((table: string, key: readonly string[], options: ItemOptions) =>
        item(shell, { table, key }, options),
      ),
    );
}

const help = `
The past comes from two places: versions that the table keeps, if it has history, and the log, which
tells of each commit of the last eight days, and of its content where the payload can be read. A
version that is "pending" is committed and not in the table yet: readers see it all the same. Of
native writes to mixed tables nothing tells but the item itself.

An item that an open BASE transaction has written or read is held by it: that one's handler and id,
its last step, and since when it is open are told as far as that is installed.

It is read as it is stored, and nobody's commit is installed by the look. A key that begins with a
dash goes behind --.

Examples:
  tidemark item accounts ann
  tidemark item orders ann 3
  tidemark item orders '{"customer":"ann","placedAt":3}' --json
  tidemark item events 0x0a0b --versions 100 -n 10000
  tidemark item accounts --json -- -ann
`;

async function item(
  shell: Shell,
  { table, key }: { readonly table: string; readonly key: readonly string[] },
  options: ItemOptions,
): Promise<ExitCode> {
  const { terminal } = shell;
  return withDeployment(
    await targetOf(options, terminal),
    async (deployment): Promise<ExitCode> => {
      const described = tableNamed(deployment, table);
      const { versions: versionsMax, blocks: blocksMax } = options;
      const asked = { table: described, key: keyFrom(described, key), versionsMax, blocksMax };
      const found = await itemHistory(deployment, new Names(deployment), asked);
      const nowMs = terminal.clock.nowMs();
      shell.answer(options, {
        text: () => itemHistoryLines(found, { nowMs, styles: terminal.styles }),
        json: () => itemHistoryJson(found),
      });
      return 0;
    },
  );
}
