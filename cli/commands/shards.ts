/** `tidemark shards`: the map, how each shard stands, splitting one and joining one. */
import { Command } from "commander";
import { splitShardOf } from "../../aws/split-on-aws.ts";
import { joinShardOf } from "../../functions/replay/join-on-aws.ts";
import { keyNamesOf } from "../../core/attributes.ts";
import { tableNamed, withDeployment } from "../../inspection/deployment.ts";
import { findingsOf, isUnhealthy } from "../../inspection/findings.ts";
import { shardStates } from "../../inspection/shard-state.ts";
import { keyFrom } from "../../inspection/words/keys.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { ShardNumber } from "../../core/types.ts";
import { target } from "../../sdk/connect.ts";
import {
  targetOf,
  withTarget,
  withWrite,
  writableTargetOf,
  type TargetOptions,
  type WritingOptions,
} from "../target.ts";
import {
  joinLine,
  shardListJson,
  shardListLines,
  splitLine,
  whereJson,
  whereLine,
} from "../views/shards.ts";

const recentMs = 60_000;

export function shardsCommand(shell: Shell): Command {
  return new Command("shards")
    .description("The shards: which hashes each has, and how its log stands.")
    .addCommand(listCommand(shell), { isDefault: true })
    .addCommand(whereCommand(shell))
    .addCommand(splitCommand(shell))
    .addCommand(joinCommand(shell))
    .addHelpText("after", help);
}

const help = `
Without a further word it lists them.

Examples:
  tidemark shards
  tidemark shards --deployment shop --json
  tidemark shards where orders ann
  tidemark shards split 0
  tidemark shards join 1
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

type SplitOptions = WritingOptions & { readonly at?: string };

function splitCommand(shell: Shell): Command {
  const command = new Command("split")
    .description("Splits a shard while it runs: the upper part of its range gets a log of its own.")
    .argument("<shard>", "its number, as `tidemark shards` lists it")
    .option(
      "--at <hash>",
      "the first hash that moves, as `tidemark shards` lists them, such as 0x30000000 (default: " +
        "half the range)",
    );
  return withWrite(command)
    .addHelpText("after", splitHelp)
    .action(shell.act((number: string, options: SplitOptions) => splitOne(shell, number, options)));
}

const splitHelp = `
Transactions go on; those on their way take one round trip more, once. The way back is a join.
Where a run is cut short, the next one goes on with it. Tables that native programs write need one
shard: with them it is refused. Interactive REST transactions that have read in the shard begin
again.

To part two busy items choose the hash between those of their partitions, which
\`tidemark shards where\` tells; a partition is never split.

Examples:
  tidemark shards split 0
  tidemark shards split 0 --at 0x30000000
  tidemark shards split 0 --deployment shop --write
`;

async function splitOne(shell: Shell, text: string, options: SplitOptions): Promise<ExitCode> {
  const where = await target(await writableTargetOf(options, shell.terminal));
  const shard = wholeNumber("shard", text) as ShardNumber;
  const at = options.at === undefined ? undefined : bound(options.at);
  const split = await splitShardOf(where, { shard, at });
  shell.answer(options, {
    text: () => [splitLine(shard, split)],
    json: () => ({ of: shard, ...split }),
  });
  return 0;
}

type JoinOptions = WritingOptions & { readonly into?: string };

function joinCommand(shell: Shell): Command {
  const command = new Command("join")
    .description("Joins a shard while it runs to the one whose hashes come right below its own.")
    .argument("<shard>", "its number, as `tidemark shards` lists it: the upper one of the two")
    .option("--into <shard>", "the other one's number, to be sure of it");
  return withWrite(command)
    .addHelpText("after", joinHelp)
    .action(shell.act((number: string, options: JoinOptions) => joinOne(shell, number, options)));
}

const joinHelp = `
Readers go on. Who writes in the shard waits, some tens of milliseconds, until what is committed
there is installed, and goes on in the other one. Needs what replay may, to install, beside what a
split needs. Where a run is cut short, replay goes on with it, and so does the next run.

Examples:
  tidemark shards join 1
  tidemark shards join 1 --into 0 --deployment shop --write
`;

async function joinOne(shell: Shell, text: string, options: JoinOptions): Promise<ExitCode> {
  const where = await target(await writableTargetOf(options, shell.terminal));
  const shard = wholeNumber("shard", text) as ShardNumber;
  const into =
    options.into === undefined ? undefined : (wholeNumber("into", options.into) as ShardNumber);
  const join = await joinShardOf(where, { shard, into });
  shell.answer(options, { text: () => [joinLine(join)], json: () => join });
  return 0;
}

function wholeNumber(field: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new InvalidRequestError(field, `\`${field}\` is a whole number; got ${quoted(text)}`);
}

/** The upper 32 bits of a hash: as the list has them, or as a number, as `--json` has them. */
function bound(text: string): number {
  if (/^(0x[0-9a-f]{8}|\d{1,10})$/i.test(text)) return Number(text);
  throw new InvalidRequestError(
    "at",
    "`at` is a hash as `tidemark shards` lists them, 0x and eight digits, such as 0x30000000, or " +
      `a whole number; got ${quoted(text)}`,
  );
}

function quoted(text: string): string {
  return `"${text.slice(0, 80)}"`;
}
