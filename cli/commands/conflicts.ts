/** `tidemark conflicts`: keys that transactions fight over. */
import { Command, Option } from "commander";
import { contentionIn, type HotKey } from "../deployment/contention.ts";
import { tableNamed, withDeployment, type Deployment } from "../deployment/deployment.ts";
import { newestBlocks } from "../deployment/log-reading.ts";
import { Names } from "../deployment/names.ts";
import * as cliLimits from "../limits.ts";
import { span, whole } from "../shell/arguments.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type TargetOptions } from "../target.ts";
import { conflictsJson, conflictsLines, type NamedKey } from "../views/conflicts.ts";

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
    .option("--rows <number>", "how many keys", whole(1, cliLimits.rowsMax), cliLimits.rowsDefault)
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
  waited    requests that met an open transaction which writes it, and were sent again
Most conflicts never reach the log: a client that finds one in its own tail, or whose block came
second, runs again and leaves no trace. Those the SDK's events tell (\`onEvent\`), with their keys.

Keys are hashes there. They are named by payloads: those in clients' own blocks are at hand; those
of requests by the stream are read with --payloads, which takes that right, and reads of the five a
second that a Kinesis shard gives.

Examples:
  tidemark conflicts
  tidemark conflicts --since 1h --table orders --rows 50
  tidemark conflicts --payloads --json --deployment shop
`;

async function conflicts(shell: Shell, options: ConflictsOptions): Promise<ExitCode> {
  const { terminal } = shell;
  const where = await targetOf(options, terminal);
  return withDeployment(where, async (deployment): Promise<ExitCode> => {
    const sinceMs = terminal.clock.nowMs() - options.since;
    const logs = await Promise.all(
      deployment.logs.map(async (log) => ({
        log,
        blocks: await newestBlocks(deployment.ports.log, log, {
          blocksMax: cliLimits.blocksMax,
          until: ({ block }) => block !== undefined && block.throughTimestamp / 1_000 < sinceMs,
        }),
      })),
    );
    const found = contentionIn(logs);
    const wanted =
      options.table === undefined
        ? undefined
        : deployment.logs[0]?.hashes.table(tableNamed(deployment, options.table).name);
    const keys = found.keys
      .filter(({ table }) => wanted === undefined || table === wanted)
      .slice(0, options.rows);
    const rows = await named(deployment, keys, options.payloads === true);
    const view = { ...found, keys: rows, sinceMs: options.since };
    shell.answer(options, {
      text: () => conflictsLines(view, terminal.styles),
      json: () => conflictsJson(view),
    });
    return 0;
  });
}

/** Each payload is read once, and not more than so many. */
async function named(
  deployment: Deployment,
  keys: readonly HotKey[],
  readsElsewhere: boolean,
): Promise<readonly NamedKey[]> {
  const names = new Names(deployment);
  const rows: NamedKey[] = [];
  let reads = 0;
  for (const hot of keys) {
    const tableName = names.table(hot.table)?.name;
    const isHere = hot.told.payload.kind === "inline";
    const mayRead = isHere || (readsElsewhere && reads < cliLimits.payloadsMax);
    if (!isHere && mayRead) reads += 1;
    const told = mayRead ? await names.writes(hot.log, hot.told) : undefined;
    const write =
      told?.kind === "named" ? told.writes.find(({ hash }) => hash === hot.key) : undefined;
    rows.push({ hot, table: tableName, key: write?.key });
  }
  return rows;
}
