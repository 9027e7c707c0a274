/** `tidemark log`: the blocks of the logs, decoded; the newest ones, and those to come. */
import { Command } from "commander";
import { keyNamesOf } from "../../core/attributes.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { LogPosition } from "../../core/types.ts";
import { parseTransactionId } from "../../schemas/transaction-id-text.ts";
import {
  logsOf,
  opened,
  tableNamed,
  withDeployment,
  type Deployment,
  type ShardLog,
} from "../../inspection/deployment.ts";
import { blocksAfter, newestBlocks, type ReadBlock } from "../../inspection/log-reading.ts";
import { Names } from "../../inspection/names.ts";
import {
  isFiltered,
  shownBlock,
  type Search,
  type ShownBlock,
  type Wanted,
} from "../../inspection/shown-block.ts";
import * as inspectionLimits from "../../inspection/limits.ts";
import * as cliLimits from "../limits.ts";
import { span, whole } from "../shell/arguments.ts";
import { keyFrom } from "../../inspection/words/keys.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type TargetOptions } from "../target.ts";
import { blockJson, blockLines, type LogView } from "../views/log.ts";

type LogOptions = TargetOptions & {
  readonly follow?: boolean;
  readonly blocks?: number;
  readonly since?: number;
  readonly from?: number;
  readonly shard?: number;
  readonly id?: string;
  readonly table?: string;
  readonly key?: readonly string[];
  readonly payloads?: boolean;
  readonly items?: boolean;
};

/** Blocks that are looked through if nothing is said: all of them, or for something. */
const usualBlocks = 20;
const usualSearch = 1_000;
const pollMs = 500;
/** How often who follows looks for shards that were split off meanwhile. */
const mapMs = 5_000;

export function logCommand(shell: Shell): Command {
  const command = new Command("log").description(
    "The commit log, decoded: its newest blocks, and with --follow those to come.",
  );
  return withTarget(command)
    .option("-f, --follow", "go on with what is appended, until Ctrl-C")
    .option(
      "-n, --blocks <number>",
      "how many of the newest blocks to look through, of each shard (default: 20, and 1000 " +
        "where something is looked for)",
      whole(1, inspectionLimits.blocksMax),
    )
    .option("--since <span>", "only those of so long ago", span(9 * cliLimits.windowSecondsMax))
    .option(
      "--from <position>",
      "blocks from this position on, of one --shard where there are several",
      whole(1, Number.MAX_SAFE_INTEGER),
    )
    .option("--shard <number>", "of this shard alone", whole(0, Number.MAX_SAFE_INTEGER))
    .option("--id <id>", "what concerns this transaction")
    .option("--table <name>", "what writes to this table")
    .option("--key <value...>", "what writes this item of --table: its key's values, or JSON")
    .option("--payloads", "read payloads that lie elsewhere, to name all keys")
    .option("--items", "show the items as well, and so read payloads")
    .addHelpText("after", help)
    .action(shell.act((options: LogOptions) => log(shell, options)));
}

const help = `
A block holds verdicts, and names what they write by hashes: tables are told from the registry,
keys from payloads. Those of clients' own blocks are at hand; those of requests by the stream are
read with --payloads, which takes the right to read the stream. Verdicts on what was aborted, or
has to be sent again, name no keys: --table and --key leave them out.

With several shards blocks stand in the order of their timestamps, as shard/position.

With --follow shards that are split off are followed, too, some seconds later. A look that fails is
told of once, and the next ones are made; of a stack that was made anew meanwhile the log is shown
from its beginning. Exit code: 1 if the last one failed, else 0.

Examples:
  tidemark log -n 5
  tidemark log --follow --table orders
  tidemark log --table orders --key ann 3 --since 10m --items
  tidemark log --id 0663a4b7e8c9d10a0b1c2d3e4f506172 --json
  tidemark log --shard 2 --from 1200 -n 10
`;

type Reading = {
  readonly deployment: Deployment;
  readonly logs: readonly ShardLog[];
  readonly wanted: Wanted;
  readonly names: Names;
  readonly search: Search;
  readonly view: LogView;
};

async function log(shell: Shell, options: LogOptions): Promise<ExitCode> {
  const where = await targetOf(options, shell.terminal);
  return withDeployment(where, async (deployment): Promise<ExitCode> => {
    const reading = readingOf(deployment, options);
    const nowMs = shell.terminal.clock.nowMs();
    const first = await Promise.all(
      reading.logs.map(async (each) => ({
        log: each,
        blocks: await firstBlocks(reading, each, options, nowMs),
      })),
    );
    const told = await tell(shell, options, reading, first);
    if (options.follow !== true) {
      // Not where answers are read by programs: no line is an answer, too.
      if (told === 0 && options.json !== true) shell.terminal.say(nothingText(reading, options));
      return 0;
    }
    const ends = new Map(
      first.map(({ log: each, blocks }) => [each, blocks.at(-1)?.position ?? (0 as LogPosition)]),
    );
    return follow(shell, options, reading, ends);
  });
}

/** @throws InvalidRequestError for what cannot be looked for. */
function readingOf(deployment: Deployment, options: LogOptions): Reading {
  const { table: name, key: words, shard, from } = options;
  const id = options.id === undefined ? undefined : parseTransactionId(options.id);
  const logs = logsOf(deployment, shard);
  if (words !== undefined && name === undefined) {
    throw new InvalidRequestError("key", "--key is of a table: name it with --table");
  }
  if (from !== undefined && logs.length > 1) {
    throw new InvalidRequestError("from", "each shard has positions of its own: add --shard");
  }
  const described = name === undefined ? undefined : tableNamed(deployment, name);
  const [any] = logs;
  const table = described && any?.hashes.table(described.name);
  const item =
    described === undefined || words === undefined
      ? undefined
      : any?.hashes.item(keyNamesOf(described), keyFrom(described, words));
  const one = item === undefined ? undefined : deployment.map.at(item.partition).number;
  return {
    deployment,
    logs: one === undefined ? logs : logs.filter(({ number }) => number === one),
    wanted: { id, table, key: item?.key },
    names: new Names(deployment),
    search: options.payloads === true || options.items === true ? "payloads" : "block",
    view: { isSharded: deployment.logs.length > 1, showsItems: options.items === true },
  };
}

/** In order. */
async function firstBlocks(
  { deployment, wanted }: Reading,
  shardLog: ShardLog,
  { blocks, since, from }: LogOptions,
  nowMs: number,
): Promise<readonly ReadBlock[]> {
  const { log: store } = deployment.ports;
  const isWide = isFiltered(wanted) || since !== undefined;
  const blocksMax = blocks ?? (isWide ? usualSearch : usualBlocks);
  if (from !== undefined) {
    return blocksAfter(store, shardLog, { after: (from - 1) as LogPosition, blocksMax });
  }
  const isOld = ({ block }: ReadBlock): boolean =>
    since !== undefined && block !== undefined && block.throughTimestamp / 1_000 < nowMs - since;
  const newest = await newestBlocks(store, shardLog, { blocksMax, until: isOld });
  return newest.filter((each) => !isOld(each)).reverse();
}

function nothingText({ wanted }: Reading, { since, from }: LogOptions): string {
  if (isFiltered(wanted)) return "nothing of that in the blocks looked at; -n looks at more\n";
  const isPart = since !== undefined || from !== undefined;
  return isPart ? "no block of the log lies there\n" : "the log is empty\n";
}

type Read = { readonly log: ShardLog; readonly blocks: readonly ReadBlock[] };

/** @returns how many blocks it has shown. */
async function tell(
  shell: Shell,
  options: LogOptions,
  reading: Reading,
  read: readonly Read[],
): Promise<number> {
  const shown: ShownBlock[] = [];
  for (const { log: shardLog, blocks } of read) {
    for (const block of blocks) {
      const each = await shownBlock(shardLog, block, reading);
      if (each !== undefined) shown.push(each);
    }
  }
  const { view } = reading;
  for (const each of shown.sort((a, b) => timeOf(a) - timeOf(b))) {
    shell.answer(options, {
      text: () => blockLines(each, view, shell.terminal.styles),
      json: () => blockJson(each, view),
    });
  }
  return shown.length;
}

/** What does not decode is seen at once. */
function timeOf({ block }: ShownBlock): number {
  return block?.throughTimestamp ?? 0;
}

/** Where each log was read to. */
type Followed = { readonly reading: Reading; readonly ends: Map<ShardLog, LogPosition> };

async function follow(
  shell: Shell,
  options: LogOptions,
  reading: Reading,
  ends: Map<ShardLog, LogPosition>,
): Promise<ExitCode> {
  const { clock, untilStopped } = shell.terminal;
  const stopped = untilStopped();
  let from: Followed = { reading, ends };
  /** Of an outage, which is told of once. */
  let failed: ExitCode | undefined;
  let mapDueMs = clock.monotonicMs() + mapMs;
  for (;;) {
    await clock.sleep(pollMs, stopped).catch(() => undefined);
    if (stopped.aborted) return failed ?? 0;
    try {
      if (failed !== undefined) from = await afterOutage(shell, options, from);
      if (clock.monotonicMs() >= mapDueMs) {
        from = await withNewShards(options, from);
        mapDueMs = clock.monotonicMs() + mapMs;
      }
      await tell(shell, options, from.reading, await newBlocks(from.reading, from.ends));
      failed = undefined;
    } catch (error) {
      failed ??= shell.tell(error, options);
      if (failed === undefined) throw error;
    }
  }
}

/**
 * A stack that keeps its data in memory comes back with new logs: positions that were read mean
 * nothing there, and keys are hashed under another secret. They are read from their beginnings.
 */
async function afterOutage(shell: Shell, options: LogOptions, from: Followed): Promise<Followed> {
  const deployment = await opened(from.reading.deployment);
  const known = new Set(from.reading.deployment.logs.map(({ hashes }) => hashes.fingerprint));
  if (deployment.logs.some(({ hashes }) => known.has(hashes.fingerprint))) return from;
  const reading = readingOf(deployment, options);
  if (options.json !== true) {
    shell.terminal.say("tidemark: the stack was made anew, and its log begins again\n");
  }
  return { reading, ends: new Map(reading.logs.map((each) => [each, 0 as LogPosition])) };
}

/** The log of a shard that was split off begins at its fork: what comes before is another log's. */
async function withNewShards(options: LogOptions, from: Followed): Promise<Followed> {
  const deployment = await opened(from.reading.deployment);
  const known = new Map(Array.from(from.ends, ([{ number }, end]) => [number, end]));
  const isKnown = ({ number }: ShardLog): boolean => known.has(number);
  // One position says nothing of several logs, and those that it began with are past it.
  const { from: _from, ...later } = options;
  const reading = readingOf(deployment, later);
  if (reading.logs.every(isKnown)) return from;
  const ends = reading.logs.map((each): readonly [ShardLog, LogPosition] => {
    const begin = each.hashes.past.at(-1)?.through ?? (0 as LogPosition);
    return [each, known.get(each.number) ?? begin];
  });
  return { reading, ends: new Map(ends) };
}

/** Those behind the ends, which move on. */
async function newBlocks(
  { deployment }: Reading,
  ends: Map<ShardLog, LogPosition>,
): Promise<readonly Read[]> {
  const { log: store } = deployment.ports;
  const read = await Promise.all(
    Array.from(ends, async ([each, after]) => ({
      log: each,
      blocks: await blocksAfter(store, each, { after, blocksMax: inspectionLimits.blocksMax }),
    })),
  );
  for (const { log: each, blocks } of read) {
    const last = blocks.at(-1);
    if (last !== undefined) ends.set(each, last.position);
  }
  return read;
}
