/**
 * Judges a recorded history (docs/formats/history.md).
 *
 *     npm run check-history -- FILE_OR_DIR [--strict]
 *
 * A file holds transactions; a folder all that a recorder wrote, or folders of that kind. Exits
 * with 1 if anything is found, with 2 if there is nothing that can be judged.
 */
import { createReadStream, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { checkBaseHistory } from "../testing/checker/check-base.ts";
import type { CheckReport } from "../testing/checker/check-history.ts";
import {
  parseFinalState,
  parseTransaction,
  parseVersionOrder,
  readLines,
  type LineParser,
} from "../testing/history/parse.ts";
import { historyFiles, type History } from "../testing/history/types.ts";

type Options = {
  readonly strict: boolean;
  readonly timestamps: boolean;
  readonly abortedReads: boolean;
  readonly findingsMax: string;
};

const program = new Command("check-history")
  .description("Judges a history: is it what its transactions asked for?")
  .argument("<path>", "a file of transactions, a folder with one, or a folder of such folders")
  .option("--strict", "the order must be that of real time", false)
  .option("--no-timestamps", "do not judge the database's own timestamps")
  .option("--aborted-reads", "aborted transactions, too, must have read one state", false)
  .option("--findings-max <count>", "findings that are printed, per history", "20")
  .action(judge);

await program.parseAsync().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
});

async function judge(path: string, options: Options): Promise<void> {
  const folders = statSync(path).isDirectory() ? historyFolders(path) : [path];
  if (folders.length === 0) throw new Error(`no ${historyFiles.transactions} below ${path}`);
  let findings = 0;
  for (const folder of folders) {
    const report = checkBaseHistory(await readHistory(folder), {
      strict: options.strict,
      timestamps: options.timestamps,
      abortedReads: options.abortedReads,
      findingsMax: Number(options.findingsMax),
    });
    print(folder, report);
    findings += report.findingsCount;
  }
  const histories = folders.length === 1 ? "1 history" : `${folders.length} histories`;
  console.log(`${histories}, ${findings} findings`);
  if (findings > 0) process.exitCode = 1;
}

function historyFolders(path: string): string[] {
  if (existsSync(join(path, historyFiles.transactions))) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(path, name))
    .sort()
    .flatMap(historyFolders);
}

async function readHistory(path: string): Promise<History> {
  if (!statSync(path).isDirectory()) return { transactions: await read(path, parseTransaction) };
  const order = join(path, historyFiles.versionOrder);
  const final = join(path, historyFiles.finalState);
  return {
    transactions: await read(join(path, historyFiles.transactions), parseTransaction),
    ...(existsSync(order) ? { versionOrder: await read(order, parseVersionOrder) } : {}),
    ...(existsSync(final) ? { finalState: await read(final, parseFinalState) } : {}),
  };
}

async function read<Entry>(file: string, parse: LineParser<Entry>): Promise<Entry[]> {
  try {
    const entries: Entry[] = [];
    for await (const entry of readLines(createReadStream(file), parse)) entries.push(entry);
    return entries;
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function print(path: string, { findings, findingsCount, counts, undecided }: CheckReport): void {
  const { committed, native, aborted, unknown, unknownCommitted, reads, writes } = counts;
  console.log(
    `${path}: ${committed} committed, ${native} native, ${aborted} aborted, ${unknown} unknown ` +
      `(${unknownCommitted} took effect), ${reads} reads, ${writes} writes`,
  );
  if (undecided.keys + undecided.nullReads > 0) {
    console.log(
      `  left open: the order of versions of ${undecided.keys} keys, ` +
        `${undecided.nullReads} reads of nothing`,
    );
  }
  for (const { anomaly, description } of findings) console.log(`\n${anomaly}: ${description}\n`);
  const more = findingsCount - findings.length;
  if (more > 0) console.log(`and ${more} more`);
}
