/** `tidemark status`: how a deployment is, now or again and again. */
import { Command, Option } from "commander";
import { baseFinding } from "../../inspection/base-checks.ts";
import { openBases, takesBases } from "../../inspection/bases.ts";
import { feedFindings, feedHealth } from "../../inspection/feed-checks.ts";
import { allFeeds } from "../../inspection/feeds.ts";
import { denied, ifAllowed } from "../../inspection/allowed.ts";
import { withDeployment, type Deployment } from "../../inspection/deployment.ts";
import { findingsOf, isUnhealthy } from "../../inspection/findings.ts";
import { shardStates } from "../../inspection/shard-state.ts";
import * as cliLimits from "../limits.ts";
import { span } from "../shell/arguments.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type TargetOptions } from "../target.ts";
import { minimalStatus, statusJson, statusLines, type Status } from "../views/status.ts";

type StatusOptions = TargetOptions & {
  readonly minimal?: boolean;
  /** In milliseconds; true: as often as is usual. */
  readonly watch?: number | true;
  readonly window: number;
};

const usualWatchMs = 2_000;
const usualWindowMs = 60_000;
const topOfScreen = "\u001b[H\u001b[J";

export function statusCommand(shell: Shell): Command {
  const command = new Command("status").description(
    "How the deployment is: lag of the watermark, commits by their way, aborts, open " +
      "transactions, and whether the functions keep up.",
  );
  return withTarget(command)
    .option("--minimal", "one line")
    .option("--watch [span]", "again every so often, until Ctrl-C (default: 2s)", watchSpan)
    .addOption(
      new Option("--window <span>", "what counts as lately")
        .argParser(windowSpan)
        .default(usualWindowMs, "60s"),
    )
    .addHelpText("after", help)
    .action(shell.act((options: StatusOptions) => status(shell, options)));
}

const windowSpan = span(cliLimits.windowSecondsMax);
const watchSpan = span(3_600);

const help = `
All of it comes from what stands in the log, the control table and the stream. Whether functions
work is told by what they leave there: an oracle by records that nobody has decided, replay (or
housekeeping) by how far the watermark is behind. What never reaches the log is not counted:
conflicts that a client finds by itself, and commits of one item of a mixed table.

Exit code: 1 if something is bad, else 0. With --watch it is the last look's; one that fails, once
there was another, is told of, and the next one is made.

Examples:
  tidemark status
  tidemark status --minimal
  tidemark status --watch 5s --window 10m
  tidemark status --deployment shop --region eu-west-1 --json
`;

async function status(shell: Shell, options: StatusOptions): Promise<ExitCode> {
  const { terminal } = shell;
  const where = await targetOf(options, terminal);
  const once = (): Promise<Status> =>
    withDeployment(where, (deployment) => look(deployment, options.window, terminal.clock.nowMs()));
  const { watch } = options;
  if (watch === undefined) return answered(shell, options, await once());
  const stopped = terminal.untilStopped();
  const isDrawn = terminal.isInteractive && options.json !== true && options.minimal !== true;
  let code: ExitCode | undefined;
  while (!stopped.aborted) {
    try {
      const seen = await once();
      if (isDrawn) terminal.print(topOfScreen);
      code = answered(shell, options, seen);
    } catch (error) {
      // Whoever has seen it once watches it through outages, and is told of them.
      const said = code === undefined ? undefined : shell.tell(error, options);
      if (said === undefined) throw error;
      code = said;
    }
    const pauseMs = watch === true ? usualWatchMs : watch;
    await terminal.clock.sleep(pauseMs, stopped).catch(() => undefined);
  }
  return code ?? 0;
}

function answered(shell: Shell, options: StatusOptions, seen: Status): ExitCode {
  const { styles } = shell.terminal;
  shell.answer(options, {
    text: () =>
      options.minimal === true ? [minimalStatus(seen, styles)] : statusLines(seen, styles),
    json: () => statusJson(seen),
  });
  return isUnhealthy(seen.findings) ? 1 : 0;
}

async function look(deployment: Deployment, windowMs: number, nowMs: number): Promise<Status> {
  const { name, place, registry } = deployment;
  const { tables } = registry;
  const streamless = registry.streamless === true;
  const [shards, seen, feeds] = await Promise.all([
    shardStates(deployment, { windowMs, nowMs }),
    takesBases(deployment) ? ifAllowed(() => openBases(deployment)) : undefined,
    ifAllowed(() => allFeeds(deployment, nowMs)),
  ]);
  return {
    deployment: name,
    place,
    nowMs,
    windowMs,
    streamless,
    tables: {
      all: tables.length,
      mixed: tables.filter(({ access }) => access === "mixed").length,
      moving: tables.filter(({ move }) => move !== undefined).length,
    },
    bases:
      seen === undefined || seen === denied
        ? undefined
        : {
            open: seen.all,
            parked: seen.bases.filter(({ phase }) => phase === "parked").length,
            damaged: seen.bases.filter(({ phase }) => phase === "damaged").length,
          },
    feeds:
      feeds === denied
        ? undefined
        : {
            all: feeds.feeds.length,
            ill: feeds.feeds.filter((feed) => feedHealth(feed, nowMs).level === "bad").length,
          },
    shards,
    findings: [
      ...findingsOf(shards, { nowMs, streamless }),
      ...(seen === undefined ? [] : [baseFinding(seen, nowMs)]),
      ...feedFindings(feeds, nowMs),
    ],
  };
}
