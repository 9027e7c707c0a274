/** `tidemark feeds reset` and `feeds remove`: what an operator does to a consumer's position. */
import { InvalidArgumentError, type Command } from "commander";
import { createAwsClientPorts } from "../../aws/client-ports.ts";
import * as limits from "../../core/limits.ts";
import type { Timestamp } from "../../core/types.ts";
import { parsePosition } from "../../engine/changes/position.ts";
import type { ChangesOptions, MovesFeeds } from "../../engine/changes/types.ts";
import { createFeedMover } from "../../engine/feed-mover.ts";
import { target } from "../../sdk/connect.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { withWrite, writableTargetOf, type WritingOptions } from "../target.ts";
import { movedJson, movedLines, removedJson, removedLine } from "../views/feed-moves.ts";

type Place = ChangesOptions["from"];
type ResetOptions = WritingOptions & { readonly to: Place; readonly again?: boolean };

export function resetCommand(shell: Shell, command: Command): Command {
  return withWrite(
    command
      .description("Has a consumer go on at another place, also while it runs.")
      .argument("<name>", "the consumer's name, as db.consume or feedHandler has it")
      .requiredOption("--to <place>", "beginning, now, a date, or a position", place)
      .option("--again", "do once more what its handler does by feed.once"),
  )
    .addHelpText("after", resetHelp)
    .action(shell.act((name: string, options: ResetOptions) => reset(shell, name, options)));
}

const resetHelp = `
beginning is the oldest that log and stream still have; now is what is committed from now on; of a
date, such as 2026-11-29T10:00:00Z, what is committed at it comes first; of a position, as show has
it, what is behind it. Whoever is at the feed need not be stopped: his next save is refused, at the
latest 10 s later, and he goes on from the new place; a change that he is at he ends first. Further
back than before, what was handled comes again; further on, what lies between is left out for good.

What the handler has done by feed.once in the last 24 hours is not done again, unless you say
--again: then it counts as never done.

Exit code: 1 if what follows the place is no longer there, else 0; the message names the oldest
position that can be had.

Examples:
  tidemark feeds reset search --to beginning
  tidemark feeds reset search --to 2026-11-29T10:00:00Z --again
  tidemark feeds reset search --to now --deployment shop --write
`;

function place(text: string): Place {
  if (text === "beginning") return "oldest";
  if (text === "now") return "now";
  const position = parsePosition(text);
  // Milliseconds would lie in 1970, and be taken for the beginning.
  if (position !== undefined && position.timestamp >= limits.momentMicrosMin) return position;
  const ms = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : NaN;
  const micros = ms * 1_000;
  // What is committed at that very moment is still to come.
  if (micros >= limits.momentMicrosMin) return { timestamp: (micros - 1) as Timestamp };
  throw new InvalidArgumentError(
    "Give beginning, now, a date such as 2026-11-29 or 2026-11-29T10:00:00Z, or a position.",
  );
}

async function reset(shell: Shell, name: string, options: ResetOptions): Promise<ExitCode> {
  const { to, again = false } = options;
  return withFeeds(shell, options, async (feeds) => {
    const moved = await feeds.move(name, { to, again });
    shell.answer(options, {
      text: () => movedLines(name, moved, shell.terminal.styles),
      json: () => movedJson(name, moved),
    });
    return 0;
  });
}

export function removeCommand(shell: Shell, command: Command): Command {
  return withWrite(
    command
      .description("Forgets a consumer's position: the next one of that name begins anew.")
      .argument("<name>", "the consumer's name, as db.consume or feedHandler has it"),
  )
    .addHelpText("after", removeHelp)
    .action(shell.act((name: string, options: WritingOptions) => remove(shell, name, options)));
}

const removeHelp = `
Stop its consumers first. While one is at it nothing is removed; and one that comes later makes the
feed anew, from where its option first says, and does anew what it does by feed.once.

Exit code: 1 if somebody is at it, else 0.

Examples:
  tidemark feeds remove search
  tidemark feeds remove search --deployment shop --write
`;

async function remove(shell: Shell, name: string, options: WritingOptions): Promise<ExitCode> {
  return withFeeds(shell, options, async (feeds) => {
    const removed = await feeds.remove(name);
    const nowMs = shell.terminal.clock.nowMs();
    shell.answer(options, {
      text: () => [removedLine(name, removed, nowMs)],
      json: () => removedJson(name, removed),
    });
    return removed.kind === "removed" ? 0 : 1;
  });
}

async function withFeeds(
  shell: Shell,
  options: WritingOptions,
  act: (feeds: MovesFeeds) => Promise<ExitCode>,
): Promise<ExitCode> {
  const where = await target(await writableTargetOf(options, shell.terminal));
  const ports = createAwsClientPorts(where);
  const mover = createFeedMover(ports);
  try {
    return await act(mover.feeds);
  } finally {
    await mover.close();
    await ports.close();
  }
}
