/**
 * `tidemark shards`: the map, and how each shard stands. What changes shards would be a subcommand
 * beside `list` and `where`.
 */
import { Command } from "commander";
import { keyNamesOf } from "../../core/attributes.ts";
import { tableNamed, withDeployment } from "../deployment/deployment.ts";
import { findingsOf, isUnhealthy } from "../deployment/findings.ts";
import { shardStates } from "../deployment/shard-state.ts";
import { keyFrom } from "../shell/keys.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type TargetOptions } from "../target.ts";
import { shardListJson, shardListLines, whereJson, whereLine } from "../views/shards.ts";

const recentMs = 60_000;

export function shardsCommand(shell: Shell): Command {
  return new Command("shards")
    .description("The shards: which hashes each has, and how its log stands.")
    .addCommand(listCommand(shell), { isDefault: true })
    .addCommand(whereCommand(shell))
    .addHelpText("after", help);
}

const help = `
Without a further word it lists them.

Examples:
  tidemark shards
  tidemark shards --deployment shop --json
  tidemark shards where orders ann
`;

function listCommand(shell: Shell): Command {
  const command = new Command("list").description(
    "Lists the shards: range of hashes, end of the log, watermark, what is open.",
  );
  return withTarget(command)
    .addHelpText("after", listHelp)
    .action(shell.act((options: TargetOptions) => list(shell, options)));
}

const listHelp = `
A shard has the partitions whose hash lies in its range; the ranges are shares of all hashes, not
of all items. Exit code: 1 if a shard is ill, else 0.

Examples:
  tidemark shards list
  tidemark shards list --deployment shop
`;

async function list(shell: Shell, options: TargetOptions): Promise<ExitCode> {
  const { terminal } = shell;
  return withDeployment(await targetOf(options, terminal), async (deployment) => {
    const nowMs = terminal.clock.nowMs();
    const states = await shardStates(deployment, { windowMs: recentMs, nowMs });
    const streamless = deployment.registry.streamless === true;
    const findings = findingsOf(states, { nowMs, streamless });
    const seen = { states, findings, nowMs, streamless };
    shell.answer(options, {
      text: () => shardListLines(seen, terminal.styles),
      json: () => shardListJson(seen),
    });
    return isUnhealthy(findings) ? 1 : 0;
  });
}

function whereCommand(shell: Shell): Command {
  const command = new Command("where")
    .description("Tells which shard has an item, and so its log.")
    .argument("<table>", "a registered table")
    .argument("<key...>", "the item's key: its value, or two where there is a sort key; or JSON");
  return withTarget(command)
    .addHelpText(
      "after",
      "\nExamples:\n  tidemark shards where accounts ann\n" +
        '  tidemark shards where orders \'{"customer":"ann","placedAt":3}\'\n',
    )
    .action(
      shell.act(async (table: string, key: readonly string[], options: TargetOptions) => {
        const where = await targetOf(options, shell.terminal);
        return withDeployment(where, async (deployment): Promise<ExitCode> => {
          const described = tableNamed(deployment, table);
          const parsed = keyFrom(described, key);
          const [log] = deployment.logs;
          const hashes = log?.hashes.item(keyNamesOf(described), parsed);
          if (hashes === undefined) return 1;
          const { number, id } = deployment.map.at(hashes.partition);
          const found = { table, key: parsed, number, shard: id, hashes };
          shell.answer(options, { text: () => [whereLine(found)], json: () => whereJson(found) });
          return 0;
        });
      }),
    );
}
