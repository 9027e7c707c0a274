/**
 * The ScalarDB peer's border: what it prints is checked, and a machine that cannot run it is told
 * apart.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as hdr from "hdr-histogram-js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { scalarDbArguments } from "../../../bench/peers/scalardb-arguments.ts";
import { parseScalarDbOutput, ScalarDbOutputError } from "../../../bench/peers/scalardb-result.ts";
import { buildScalarDb } from "../../../bench/peers/scalardb.ts";

/** Recorded from the peer against DynamoDB Local. */
const recorded = readFileSync(
  fileURLToPath(new URL("scalardb-output.txt", import.meta.url)),
  "utf8",
);

/** The recorded line with one text replaced by another. */
function changed(from: string, to: string): string {
  expect(recorded).toContain(from);
  return recorded.replace(from, to);
}

describe("a line that the ScalarDB peer printed", () => {
  test("gives counts, latencies and calls", () => {
    const { version, workload, run } = parseScalarDbOutput(recorded);
    expect({ version, workload }).toEqual({ version: "3.19.1", workload: "hot-row" });
    const counts = { committed: 174, conflicts: 130, attempts: 304, failures: 0, unknown: 0 };
    expect(run).toMatchObject(counts);
    expect(run?.operations["increment"]).toMatchObject(counts);
    expect(run?.store.calls).toEqual({ GetItem: 304, UpdateItem: 304 });
    expect(run?.sample).toMatchObject({ callsPerCommit: 2, writeUnitsPerCommit: 1 });
    expect(run?.violations).toEqual([]);
  });

  test("carries a histogram that Node's library reads, with as many entries as commits", () => {
    const { run } = parseScalarDbOutput(recorded);
    const histogram = hdr.decodeFromCompressedBase64(run?.latencyMs?.histogram ?? "");
    expect(histogram.totalCount).toBe(174);
    expect(histogram.getValueAtPercentile(50) / 1_000).toBe(run?.latencyMs?.p50);
  });

  test.each([
    ["is empty", "", /no JSON/],
    ["is cut off", recorded.trimEnd().slice(0, -1), /no JSON/],
    ["is of another system", changed('"scalardb"', '"other"'), /system/],
    ["lacks a count", changed('"unknown":0,', ""), /unknown/],
    ["has a count below 0", changed('"unstarted":0', '"unstarted":-1'), /unstarted/],
    ["has a count as a text", changed('"committed":174', '"committed":"174"'), /committed/],
    ["has something unheard of", changed('"seed":1', '"seed":1,"mood":"good"'), /mood/],
    ["does not add up", changed('"committed":174', '"committed":175'), /174 over all operations/],
    ["is followed by something else", `${recorded}done\n`, /no JSON/],
  ])("is refused when it %s", (_, output, message) => {
    expect(() => parseScalarDbOutput(output)).toThrow(ScalarDbOutputError);
    expect(() => parseScalarDbOutput(output)).toThrow(message);
  });
});

describe("the ScalarDB peer's command line", () => {
  test("names only what was chosen", () => {
    const endpoint = "http://127.0.0.1:1";
    expect(
      scalarDbArguments({ endpoint, workload: "hot-row", load: false, run: true }).join(" "),
    ).toBe(`--endpoint ${endpoint} --workload hot-row --run`);
    const chosen = scalarDbArguments({
      ...{ endpoint, workload: "tpcc", load: true, run: true, rate: 2.5, profile: "plain" },
      properties: { "scalar.db.scan_fetch_size": "7" },
      tpcc: { warehouses: 3, mix: { payment: 1, delivery: 2 } },
    });
    expect(chosen.join(" ")).toBe(
      `--endpoint ${endpoint} --workload tpcc --load --run --rate 2.5 --profile plain ` +
        "--property scalar.db.scan_fetch_size=7 --warehouses 3 --mix payment=1,delivery=2",
    );
  });
});

describe("a machine that cannot run the ScalarDB peer", () => {
  let programs: string;

  beforeEach(() => {
    programs = mkdtempSync(join(tmpdir(), "scalardb-peer-"));
    vi.stubEnv("PATH", programs);
  });

  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(programs, { recursive: true, force: true });
  });

  /** Stands for a program that says this and ends. */
  function install(name: string, says: string): void {
    const path = join(programs, name);
    writeFileSync(path, `#!/bin/sh\necho '${says}' >&2\n`);
    chmodSync(path, 0o755);
  }

  const build = (): Promise<string> => buildScalarDb(() => undefined);

  test("because it has no Java says so, by type", async () => {
    await expect(build()).rejects.toMatchObject({ name: "ScalarDbUnavailable", missing: "java" });
  });

  test("because its Java is too old says which it has", async () => {
    install("java", 'openjdk version "11.0.2" 2019-01-15');
    await expect(build()).rejects.toMatchObject({ name: "ScalarDbUnavailable", missing: "java" });
    await expect(build()).rejects.toThrow("found 11");
  });
});
