/**
 * The history of a demo run (docs/formats/history.md): every process of it writes down its own
 * part, line by line, so that a killed one leaves what it had begun; at the end the parts become
 * one file, and the stores tell their side in two more.
 */
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createAwsPorts } from "../aws/ports.ts";
import { ConnectedClient } from "../sdk/client.ts";
import { connect } from "../sdk/connect.ts";
import { discover } from "../sdk/discovery.ts";
import { type Client, type ClientOptions, createClient, type EngineEvent } from "../sdk/index.ts";
import { mergeTransactions, wholeLines } from "../testing/history/merge.ts";
import { parseLines, parseTransaction } from "../testing/history/parse.ts";
import { HistoryRecorder } from "../testing/history/recorder.ts";
import { recordingEngine } from "../testing/history/recording-engine.ts";
import {
  lineWriter,
  serializeFinalState,
  serializeLines,
  serializeTransaction,
  serializeVersionOrder,
} from "../testing/history/serialize.ts";
import { readStoredHistory } from "../testing/history/stored-history.ts";
import { historyFiles, type HistoryTransaction } from "../testing/history/types.ts";

/**
 * Where a run's history goes, and when it began by the clock that the machine's processes share.
 */
export type DemoHistory = { readonly folder: string; readonly originNs: string };

const partSuffix = ".part.jsonl";

/** Empties the folder of an earlier run's history. */
export function startHistory(folder: string): DemoHistory {
  mkdirSync(folder, { recursive: true });
  for (const name of [...partsIn(folder), ...Object.values(historyFiles)]) {
    rmSync(join(folder, name), { force: true });
  }
  return { folder, originNs: process.hrtime.bigint().toString() };
}

export type OpenedClient = {
  readonly db: Client;
  /** Writes down what is still open; after the client was closed. */
  readonly finish: () => void;
};

/**
 * A client as any application has it, recorded if a history is wanted. @param options.name unique
 * within the run.
 */
export function openClient(options: {
  readonly endpoint: string;
  readonly commit?: NonNullable<ClientOptions["commit"]>;
  readonly name: string;
  readonly history: DemoHistory | undefined;
  readonly onEvent?: (event: EngineEvent) => void;
}): OpenedClient {
  const { name, history, onEvent, ...where } = options;
  const settings = { ...where, ...(onEvent === undefined ? {} : { onEvent }) };
  if (history === undefined) return { db: createClient(settings), finish: () => undefined };
  const origin = BigInt(history.originNs);
  const file = join(history.folder, `${name}${partSuffix}`);
  const write = lineWriter((line) => {
    appendFileSync(file, line);
  }, serializeTransaction);
  const recorder = new HistoryRecorder({
    nowNs: () => Number(process.hrtime.bigint() - origin),
    emit: write,
    emitIntent: write,
  });
  const db = new ConnectedClient({
    connect: async () => {
      const connection = await connect(settings);
      return {
        engine: recordingEngine(connection.engine, recorder, { process: name }),
        close: () => connection.close(),
      };
    },
    marshall: {},
    numbers: "bigint-when-unsafe",
  });
  return { db, finish: () => void recorder.finish() };
}

/**
 * Makes one file of all parts, and beside it what the stores hold. Called when no client writes any
 * more.
 */
export async function finishHistory(
  history: DemoHistory,
  { endpoint, say }: { readonly endpoint: string; readonly say: (line: string) => void },
): Promise<void> {
  const { folder } = history;
  const transactions = joinParts(folder);
  say(`${transactions.length} transactions recorded in ${folder}`);
  try {
    await writeStored(folder, endpoint, transactions);
  } catch (error) {
    // A run that failed may have taken its stores with it; what its clients saw stands all the
    // same.
    say(`without the stores' own order of versions: ${String(error)}`);
  }
}

async function writeStored(
  folder: string,
  endpoint: string,
  transactions: readonly HistoryTransaction[],
): Promise<void> {
  const { deployment, region, endpoints } = await discover(endpoint);
  const ports = createAwsPorts({ deployment, region, endpoint: endpoints });
  try {
    const { versionOrder, finalState } = await readStoredHistory(ports, transactions);
    const write = (name: string, text: string): void => {
      writeFileSync(join(folder, name), text);
    };
    write(historyFiles.versionOrder, serializeLines(versionOrder, serializeVersionOrder));
    if (finalState === undefined) return;
    write(historyFiles.finalState, serializeLines(finalState, serializeFinalState));
  } finally {
    await ports.close();
  }
}

function joinParts(folder: string): readonly HistoryTransaction[] {
  const parts = partsIn(folder);
  const entries = parts.flatMap((name) =>
    parseLines(wholeLines(readFileSync(join(folder, name), "utf8")), parseTransaction),
  );
  const transactions = mergeTransactions(entries);
  const text = serializeLines(transactions, serializeTransaction);
  writeFileSync(join(folder, historyFiles.transactions), text);
  for (const name of parts) rmSync(join(folder, name));
  return transactions;
}

function partsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(partSuffix))
    .sort();
}
