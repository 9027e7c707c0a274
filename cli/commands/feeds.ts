/** `tidemark feeds`: consumers of changes that have a name, and how far each has come. */
import { Command } from "commander";
import { withDeployment } from "../../inspection/deployment.ts";
import { feedHealth } from "../../inspection/feed-checks.ts";
import { allFeeds, oneFeed, type SeenFeed } from "../../inspection/feeds.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type TargetOptions } from "../target.ts";
import { removeCommand, resetCommand } from "./feed-moves.ts";
import { feedJson, feedListJson, feedListLines, oneFeedLines } from "../views/feeds.ts";

export function feedsCommand(shell: Shell): Command {
  return new Command("feeds")
    .description("Consumers of changes: how far each is behind, who is at it; moving and removing.")
    .addCommand(listCommand(shell), { isDefault: true })
    .addCommand(showCommand(shell))
    .addCommand(resetCommand(shell, new Command("reset")))
    .addCommand(removeCommand(shell, new Command("remove")))
    .addHelpText("after", help);
}

const help = `
Without a further word it lists them.

Examples:
  tidemark feeds
  tidemark feeds show search
  tidemark feeds reset search --to beginning
  tidemark feeds remove search
  tidemark feeds --deployment shop --region eu-west-1 --json
`;

function listCommand(shell: Shell): Command {
  const command = new Command("list").description("Lists them.");
  return withTarget(command)
    .addHelpText("after", listHelp)
    .action(shell.act((options: TargetOptions) => list(shell, options)));
}

const listHelp = `
Behind is the age of the oldest commit that a feed has not come to, of whatever table, and the
blocks from there to the ends of the logs; 0 where there is none, however old its position is. Who
holds a feed is told by a name that he has drawn; for how long, by his clock. Failures are those in
a row; the last one is told also when it is long over. Names of those that were removed come last.

A feed is listed once a consumer of this release has been at it; one that none has been at is shown
by its name.

Exit code: 1 if one is far behind, fails and is behind, or has lost what follows its position;
else 0.

Examples:
  tidemark feeds list
  tidemark feeds list --json
`;

async function list(shell: Shell, options: TargetOptions): Promise<ExitCode> {
  const { terminal } = shell;
  return withDeployment(await targetOf(options, terminal), async (deployment) => {
    const nowMs = terminal.clock.nowMs();
    const seen = await allFeeds(deployment, nowMs);
    shell.answer(options, {
      text: () => feedListLines(seen, nowMs, terminal.styles),
      json: () => feedListJson(seen, nowMs),
    });
    return exitCodeOf(seen.feeds, nowMs);
  });
}

function exitCodeOf(feeds: readonly SeenFeed[], nowMs: number): ExitCode {
  return feeds.some((feed) => feedHealth(feed, nowMs).level === "bad") ? 1 : 0;
}

function showCommand(shell: Shell): Command {
  const command = new Command("show")
    .description("Shows one, with its position, its tables and its last failure.")
    .argument("<name>", "the consumer's name, as db.consume or feedHandler has it");
  return withTarget(command)
    .addHelpText("after", showHelp)
    .action(shell.act((name: string, options: TargetOptions) => show(shell, name, options)));
}

const showHelp = `
Exit code: 1 if it is far behind, fails and is behind, or has lost what follows its position;
else 0.

Examples:
  tidemark feeds show search
  tidemark feeds show search --deployment shop --json
`;

async function show(shell: Shell, name: string, options: TargetOptions): Promise<ExitCode> {
  const { terminal } = shell;
  return withDeployment(await targetOf(options, terminal), async (deployment) => {
    const nowMs = terminal.clock.nowMs();
    const feed = await oneFeed(deployment, name, nowMs);
    shell.answer(options, {
      text: () => oneFeedLines(feed, nowMs, terminal.styles),
      json: () => feedJson(feed, nowMs),
    });
    return exitCodeOf([feed], nowMs);
  });
}
