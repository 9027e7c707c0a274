/**
 * Replays the model's traces on the code (model/README.md).
 *
 *     npm run model:replay                      all of model/traces
 *     npm run model:replay -- FILE…             some
 *     npm run model:replay -- --fresh 500       as many new behaviours, simulated by the checker
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { modelFolder } from "./harness/checker.ts";
import { replayTrace } from "./harness/replayer.ts";
import { simulate } from "./harness/simulate.ts";
import { parseTrace, type Trace } from "./harness/trace.ts";

type Named = { readonly name: string; readonly trace: Trace };

function* committed(files: readonly string[]): Generator<Named> {
  const folder = join(modelFolder, "traces");
  const all = readdirSync(folder).map((file) => join(folder, file));
  for (const file of files.length === 0 ? all : files) {
    yield { name: file, trace: parseTrace(readFileSync(file, "utf8")) };
  }
}

async function replay(traces: Iterable<Named>): Promise<void> {
  let count = 0;
  let steps = 0;
  for (const { name, trace } of traces) {
    const difference = await replayTrace(trace);
    count += 1;
    steps += trace.steps.length;
    if (difference === undefined) continue;
    process.stdout.write(`${name}: ${JSON.stringify(difference, null, 2)}\n`);
    process.exitCode = 1;
  }
  process.stdout.write(`${count} traces, ${steps} steps replayed on the code\n`);
}

async function main(
  files: readonly string[],
  options: { readonly fresh?: string; readonly seed: string },
): Promise<void> {
  if (options.fresh === undefined) {
    await replay(committed(files));
    return;
  }
  const work = mkdtempSync(join(tmpdir(), "tidemark-traces-"));
  try {
    const traces = await simulate({ folder: work, count: options.fresh, seed: options.seed });
    await replay(traces.map((trace, index) => ({ name: `behaviour ${index}`, trace })));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

await new Command("model-replay")
  .argument("[files...]", "traces; by default all of model/traces")
  .option("--fresh <count>", "simulate so many new behaviours instead")
  .option("--seed <number>", "of the simulation", "1")
  .action(main)
  .parseAsync();
