/** The demo's command line. */
import { Command, InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import { shardsMax } from "../core/limits.ts";
import { commitWays } from "./messages.ts";

const optionsSchema = z.object({
  endpoint: z.string().optional(),
  clients: z.int(),
  concurrency: z.int(),
  commit: z.enum([...commitWays, "mixed"]),
  seconds: z.number(),
  accounts: z.int(),
  shards: z.int().optional(),
  seed: z.int(),
  chaos: z.boolean(),
  native: z.boolean(),
  base: z.boolean(),
  data: z.string().optional(),
  history: z.string().optional(),
  json: z.boolean(),
});

export type DemoOptions = z.infer<typeof optionsSchema>;

const clientsMax = 64;
const concurrencyMax = 256;
const accountsMax = 5_000;
const secondsMax = 3_600;

/** @param called how the demo is called. */
const helpOf = (called: string): string => `
The demo starts an embedded stack of its own (or uses the one at --endpoint), runs transfers and
ticket sales in several client processes, and then audits: money conserved, nobody overdrawn, ledger
and balances agree, no seat sold twice, every order with its payment and exactly its seats,
everything acknowledged there, nothing else there, and the SDK and plain DynamoDB scans of one
opinion. It exits with 1 and a list of faults if anything is wrong.

--chaos kills clients (at any moment, and exactly between a commit's decision and its installs),
oracle, replay, reaper and api. The process of the stores is killed only with --data: in memory its
data would die with it. With --endpoint only clients are killed: the stack's processes are not ours.

--shards gives the demo's stack so many logs. With --chaos one of them is split in the middle, and
the new one is joined to it again, while processes are killed.

--native adds a shop on a mixed table: programs sell its goods by plain conditional UpdateItems and
restock them by transactions. No unit is made or lost, and no fence is left. With --chaos these
programs are killed, too.

--base adds purses, between which processes pay by BASE transactions: one step takes, time passes,
the next one gives, or gives back where the other purse is full. Beside them others pay at once, and
audits look on, ACID and read-only ones. With --chaos the processes, and the runners that go on with
what these have left, are killed between any two steps. What was accepted ends, each step is made
once, and nobody sees a payment half done.

Examples:
  ${calledAlone(called)}
  ${called} --seconds 60 --clients 2 --accounts 20
  ${called} --chaos --seed 7
  ${called} --chaos --commit mixed
  ${called} --chaos --shards 4
  ${called} --chaos --native --shards 2
  ${called} --chaos --base
  ${called} --chaos --history histories/demo
  npm run check-history -- histories/demo --strict
  ${called} --endpoint http://127.0.0.1:4600 --json
`;

const npmDemo = "npm run demo --";

/** npm's own marker is for options alone. */
function calledAlone(called: string): string {
  return called.replace(/ --$/, "");
}

/** Ends the process with a message for anything that cannot be understood. */
export function parseOptions(parameters: readonly string[]): DemoOptions {
  const program = withDemoOptions(new Command(npmDemo), npmDemo)
    .showHelpAfterError(`(${npmDemo} --help shows all options)`)
    .allowExcessArguments(false);
  program.parse([...parameters], { from: "user" });
  return demoOptions(program);
}

/** Also of the package's command, which is called otherwise. */
export function withDemoOptions(command: Command, called: string): Command {
  return command
    .description("Many concurrent clients against a Tidemark stack, then an audit.")
    .option("--endpoint <url>", "address of a running stack (default: start one)", parseUrl)
    .option("--clients <number>", "client processes", whole(1, clientsMax), 4)
    .option("--concurrency <number>", "transactions at a time in each", whole(1, concurrencyMax), 8)
    .addOption(
      new Option("--commit <way>", "how clients commit; mixed: each its own way")
        .choices([...commitWays, "mixed"])
        .default("auto"),
    )
    .option("--seconds <number>", "how long to run", parseSeconds, 15)
    .option(
      "--accounts <number>",
      "bank accounts; fewer means more conflicts",
      whole(2, accountsMax),
      400,
    )
    .option(
      "--shards <number>",
      "logs of the demo's own stack (default: as the data has them, and 1 anew)",
      whole(1, shardsMax),
    )
    .option("--seed <number>", "decides operations and kills", whole(0, 2 ** 31 - 1))
    .option("--chaos", "kill -9 single processes while it runs", false)
    .option("--native", "programs that sell from a mixed table by plain calls beside it", false)
    .option("--base", "payments in steps, as BASE transactions, beside it", false)
    .option(
      "--data <folder>",
      "keep the stack's data there, and let --chaos kill the stores as well",
    )
    .option(
      "--history <folder>",
      "record what every transaction read and wrote, for npm run check-history",
    )
    .option("--json", "print the report as JSON; nothing else on standard output", false)
    .addHelpText("after", helpOf(called));
}

/** Of the parsed command. Ends it with an error for options that contradict each other. */
export function demoOptions(command: Command): DemoOptions {
  const options = optionsSchema.parse({
    seed: Math.floor(Math.random() * 1_000_000),
    ...command.opts(),
  });
  if (options.endpoint !== undefined && options.data !== undefined) {
    command.error("error: --data belongs to a stack of the demo's own, not to one at --endpoint");
  }
  if (options.endpoint !== undefined && options.shards !== undefined) {
    command.error("error: --shards belongs to a stack of the demo's own, not to one at --endpoint");
  }
  return options;
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`A whole number from ${min} to ${max}.`);
  };
}

function parseSeconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 1 && value <= secondsMax) return value;
  throw new InvalidArgumentError(`A number from 1 to ${secondsMax}.`);
}

function parseUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  throw new InvalidArgumentError("A URL, such as http://127.0.0.1:4600.");
}
