/**
 * Histories of the integration suites (docs/formats/history.md): with TIDEMARK_HISTORY_DIR set,
 * every engine that a local deployment opens is recorded, and each deployment leaves a folder of
 * its own when it stops, with what its stores hold then.
 */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect } from "vitest";
import type { LocalStores } from "./local-stores.ts";
import type { Engine } from "../../engine/types.ts";
import { HistoryRecorder } from "../../testing/history/recorder.ts";
import { recordingEngine } from "../../testing/history/recording-engine.ts";
import {
  lineWriter,
  serializeFinalState,
  serializeLines,
  serializeTransaction,
  serializeVersionOrder,
} from "../../testing/history/serialize.ts";
import { readStoredHistory } from "../../testing/history/stored-history.ts";
import { historyFiles } from "../../testing/history/types.ts";

type Recording = { readonly recorder: HistoryRecorder; engines: number };

const recordings = new WeakMap<LocalStores, Recording>();
let deployments = 0;

/** Does nothing unless histories are asked for. @returns what to call when the deployment stops. */
export function startHistoryExport(stores: LocalStores): () => Promise<void> {
  const directory = process.env["TIDEMARK_HISTORY_DIR"];
  if (directory === undefined || directory === "") return () => Promise.resolve();
  deployments += 1;
  const suite = basename(expect.getState().testPath ?? "suite", ".test.ts");
  const folder = join(directory, `${suite}-${process.pid}-${deployments}`);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, historyFiles.transactions);
  writeFileSync(file, "");
  const origin = process.hrtime.bigint();
  const recorder = new HistoryRecorder({
    nowNs: () => Number(process.hrtime.bigint() - origin),
    emit: lineWriter((line) => {
      appendFileSync(file, line);
    }, serializeTransaction),
  });
  recordings.set(stores, { recorder, engines: 0 });
  return async () => {
    const transactions = recorder.finish();
    // Some suites damage their stores: what these say cannot be had, or proves nothing.
    const stored = await readStoredHistory(stores.ports, transactions).catch(() => undefined);
    if (stored === undefined) return;
    const { versionOrder, finalState } = stored;
    const write = (name: string, text: string): void => {
      writeFileSync(join(folder, name), text);
    };
    write(historyFiles.versionOrder, serializeLines(versionOrder, serializeVersionOrder));
    if (finalState === undefined) return;
    write(historyFiles.finalState, serializeLines(finalState, serializeFinalState));
  };
}

/** The engine, recorded if its deployment is. */
export function recorded(stores: LocalStores, engine: Engine): Engine {
  const recording = recordings.get(stores);
  if (recording === undefined) return engine;
  recording.engines += 1;
  return recordingEngine(engine, recording.recorder, { process: `engine-${recording.engines}` });
}
