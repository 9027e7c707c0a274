/** `tidemark console`: the deployment in the browser. */
import { Command } from "commander";
import { defaultPorts } from "../default-ports.ts";
import { openConsole } from "../open-console.ts";
import { whole } from "../shell/arguments.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { targetOf, withTarget, type TargetOptions } from "../target.ts";

type ConsoleOptions = TargetOptions & { readonly port?: number };

const lastPort = 65_535;

export function consoleCommand(shell: Shell): Command {
  const command = new Command("console").description(
    "Serves a page for the browser, on this machine alone: what goes on, the log, conflicts, " +
      "transactions, and tables as of any moment. It only reads.",
  );
  return withTarget(command)
    .option(
      "--port <port>",
      `where it listens; 0 takes any free one (default: ${defaultPorts.console}, or any free one ` +
        "where that is taken)",
      whole(0, lastPort),
    )
    .addHelpText("after", help)
    .action(shell.act((options: ConsoleOptions) => serve(shell, options)));
}

const help = `
It goes on until Ctrl-C. The address that is printed holds a token behind its #: of a deployment on
AWS the page shows nothing without it. While nobody has the page open nothing is read; while
somebody has, each shard's log is asked once a second, which is what it costs there.

\`tidemark start\` serves one by itself, in which faults can be made besides: docs/console.md.

Examples:
  tidemark console
  tidemark console --port 0 --json
  tidemark console --deployment shop --region eu-west-1
`;

async function serve(shell: Shell, options: ConsoleOptions): Promise<ExitCode> {
  const { terminal } = shell;
  const where = await targetOf(options, terminal);
  const running = await openConsole(where, { port: options.port, option: "--port" });
  try {
    shell.answer(options, {
      text: () => [`console at ${running.url}`, "Ctrl-C stops it."],
      json: () => ({ url: running.url }),
    });
    const stopped = terminal.untilStopped();
    if (!stopped.aborted) {
      await new Promise<void>((resolve) => {
        stopped.addEventListener(
          "abort",
          () => {
            resolve();
          },
          { once: true },
        );
      });
    }
  } finally {
    await running.close();
  }
  return 0;
}
