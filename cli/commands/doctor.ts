/** `tidemark doctor`: what may be wrong with a deployment, or with the way to it. */
import { Command } from "commander";
import {
  clockFindings,
  foundOr,
  ownTableFindings,
  streamFindings,
  tableFindings,
} from "../../inspection/checks.ts";
import { baseFindings } from "../../inspection/base-checks.ts";
import { ifAllowed } from "../../inspection/allowed.ts";
import { feedFindings } from "../../inspection/feed-checks.ts";
import { allFeeds } from "../../inspection/feeds.ts";
import { connectTo, opened, type Connection } from "../../inspection/deployment.ts";
import { findingsOf, healthOf, isUnhealthy, type Finding } from "../../inspection/findings.ts";
import { shardStates } from "../../inspection/shard-state.ts";
import { versionFindings } from "../package-checks.ts";
import { writeRightFindings } from "../../inspection/write-rights.ts";
import { packageVersion, peers } from "../package.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type WritingOptions } from "../target.ts";
import { findingLines } from "../views/findings.ts";
import type { ClientOptions } from "../../sdk/tables.ts";

const recentMs = 60_000;

export function doctorCommand(shell: Shell): Command {
  const command = new Command("doctor").description(
    "Looks for what may be wrong: versions, endpoint, rights, clock, tables, shards, functions, " +
      "feeds.",
  );
  return withTarget(command)
    .option("--write", "try rights to write, by puts whose condition never holds")
    .addHelpText("after", help)
    .action(shell.act((options: WritingOptions) => doctor(shell, options)));
}

const help = `
Each finding has its remedy below it. What cannot be seen with the rights at hand is marked ??, and
makes nothing ill. With --write it tries whether items, blocks and versions may be put: nothing
changes by that, but the calls are writes, and cost as such. The right to put into the stream is not
tried, since that would leave a record there.

Exit code: 1 if something is bad, else 0.

Examples:
  tidemark doctor
  tidemark doctor --deployment shop --region eu-west-1
  tidemark doctor --deployment shop --write --json
`;

async function doctor(shell: Shell, options: WritingOptions): Promise<ExitCode> {
  const { terminal } = shell;
  const where = await targetOf(options, terminal);
  const own = { node: process.versions.node, own: packageVersion() };
  const findings = [
    ...versionFindings(peers(), own),
    ...(await deploymentFindings(where, options.write === true, terminal.clock.nowMs())),
  ];
  shell.answer(options, {
    text: () => findingLines(findings, terminal.styles),
    json: () => ({ health: healthOf(findings), findings }),
  });
  return isUnhealthy(findings) ? 1 : 0;
}

async function deploymentFindings(
  where: ClientOptions,
  triesWrites: boolean,
  nowMs: number,
): Promise<readonly Finding[]> {
  const remedy =
    where.endpoint === undefined
      ? "look at the deployment's name, the region, credentials and the network"
      : "start one by `tidemark start`, or name where it listens by --endpoint";
  let connection: Connection | undefined;
  try {
    const found = await foundOr("endpoint", remedy, async () => {
      connection = await connectTo(where);
      const clock = await clockFindings(connection);
      const { name, place } = connection;
      return [{ level: "fine", about: "endpoint", text: `${name} ${place} answers` }, ...clock];
    });
    if (connection === undefined || isUnhealthy(found)) return found;
    const to = connection;
    const tables = await foundOr("deployment", remedy, () => ownTableFindings(to));
    if (isUnhealthy(tables)) return [...found, ...tables];
    const more = await foundOr("shards", "docs/operations.md, Shards", inside(to));
    return [...found, ...tables, ...more];
  } finally {
    await connection?.close();
  }

  function inside(to: Connection) {
    return async (): Promise<readonly Finding[]> => {
      const deployment = await opened(to);
      const streamless = deployment.registry.streamless === true;
      const states = await shardStates(deployment, { windowMs: recentMs, nowMs });
      return [
        ...(await foundOr("stream", "look at it in AWS's console", () =>
          streamFindings(deployment),
        )),
        ...(await foundOr("tables", "look at them in AWS's console", () =>
          tableFindings(deployment),
        )),
        ...(await foundOr("BASE", "`tidemark base` shows more", () =>
          baseFindings(deployment, nowMs),
        )),
        ...(await foundOr("feeds", "`tidemark feeds` shows more", async () =>
          feedFindings(await ifAllowed(() => allFeeds(deployment, nowMs)), nowMs),
        )),
        ...findingsOf(states, { nowMs, streamless }),
        ...(triesWrites ? await writeRightFindings(where, deployment) : []),
      ];
    };
  }
}
