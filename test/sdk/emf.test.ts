/** Events as CloudWatch lines. */
import { describe, expect, test } from "vitest";
import type { Timestamp, TransactionId } from "../../core/types.ts";
import { emfMetrics, metricNames } from "../../sdk/emf.ts";
import type { EngineEvent } from "../../sdk/index.ts";
import { accounts, openShop } from "./fixtures/shop.ts";

type Line = Readonly<Record<string, unknown>> & {
  readonly _aws: {
    readonly Timestamp: number;
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string; readonly Unit: string }[];
    }[];
  };
};

function recorder() {
  const lines: Line[] = [];
  const listener = emfMetrics({
    namespace: "Shop",
    dimensions: { service: "orders" },
    sink: (line) => lines.push(JSON.parse(line) as Line),
    nowMs: () => 1_700_000_000_000,
  });
  return { lines, listener };
}

describe("emfMetrics", () => {
  test("refuses options that are missing, unknown or too many, by name", () => {
    const given = { namespace: "Shop", sink: () => undefined };
    const dimensions = Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`d${i}`, "x"]));
    const wrong: readonly (readonly [field: string, options: object])[] = [
      ["namespace", { sink: given.sink }],
      ["sink", { namespace: "Shop" }],
      ["dimension", { ...given, dimension: {} }],
      ["dimensions", { ...given, dimensions }],
      ["dimensions.stage", { ...given, dimensions: { service: "orders", stage: 1 } }],
      ["dimensions.stage", { ...given, dimensions: { stage: "" } }],
    ];
    for (const [field, options] of wrong) {
      const use = () => emfMetrics(options as Parameters<typeof emfMetrics>[0]);
      expect(use).toThrow(expect.objectContaining({ field }));
    }
  });

  test("a conflict and the commit after it become one line each", async () => {
    const { lines, listener } = recorder();
    const { db } = openShop({ onEvent: listener });
    await db.transact(async (tx) => {
      await tx.get(accounts, "a");
      if (tx.attempt === 1) {
        await db.transact(async (other) => {
          other.put(accounts, "a", { balanceCents: 1 });
        });
      }
      tx.put(accounts, "a", { balanceCents: 2 });
    });
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatchObject({
      Aborts: 1,
      Conflicts: 1,
      EarlyConflicts: 1,
      reason: "conflict",
      table: "accounts",
      key: "id=a",
      service: "orders",
    });
    expect(lines[2]).toMatchObject({ Commits: 1, Attempts: 2, Latency: 10, WriteUnits: 5 });
  });

  test("every line declares exactly the metrics that it carries, under stable names", async () => {
    const { lines, listener } = recorder();
    const id = "0".repeat(32) as TransactionId;
    const receipt = {
      transactionId: undefined,
      commitTimestamp: undefined,
      place: 0,
      readTimestamp: 1 as Timestamp,
      attempts: 1,
      consumed: { readUnits: 1, writeUnits: 0, calls: 1 },
      phases: { retryMs: 0, bodyMs: 1, certifyMs: 0, installMs: 0 },
      installed: true,
      replayed: false,
    };
    const events: EngineEvent[] = [
      {
        ...{ kind: "call-started", call: 1, operation: "transact" },
        ...{ isolation: "serializable", step: undefined },
      },
      { kind: "body-ended", call: 1, attempt: 1, reads: 2, writes: 1 },
      { kind: "installed", call: 1, transactionId: id, whole: true },
      { kind: "call-failed", call: 1, error: new Error("failed") },
      { kind: "attempt-started", call: 1, attempt: 1, isolation: "serializable" },
      {
        kind: "attempt-aborted",
        call: 1,
        attempt: 1,
        transactionId: id,
        reason: "deadline",
        detail: undefined,
        early: false,
      },
      { kind: "sent", call: 1, transactionId: id, resend: false, via: "stream" },
      { kind: "sent", call: 1, transactionId: id, resend: true, via: "stream" },
      {
        kind: "certified",
        call: 1,
        transactionId: id,
        commitTimestamp: 7 as Timestamp,
        via: "stream",
      },
      { kind: "express-denied", cause: new Error("denied") },
      { kind: "committed", call: 1, receipt },
      { kind: "committed", call: 1, receipt: { ...receipt, replayed: true } },
      { kind: "unknown", call: 1, transactionId: id },
      { kind: "helped", transactionId: id, writes: 3 },
      { kind: "install-left", call: 1, transactionId: id, cause: new Error("slow") },
      { kind: "house-kept" },
      { kind: "housekeeping-failed", cause: new Error("no right") },
    ];
    for (const event of events) listener(event);
    const names = lines.map((line) =>
      line._aws.CloudWatchMetrics[0]?.Metrics.map(({ Name }) => Name),
    );
    expect(names.map((list) => list?.[0])).toEqual([
      "Aborts",
      "Resends",
      "ExpressDenied",
      "ReadOnly",
      "Replays",
      "UnknownOutcomes",
      "HelpedWrites",
      "InstallsLeft",
      "HouseTurns",
      "HouseTurnsFailed",
    ]);
    expect(lines.map(({ cause }) => cause).filter(Boolean)).toEqual(["denied", "no right"]);
    for (const [index, line] of lines.entries()) {
      expect(line._aws.Timestamp).toBe(1_700_000_000_000);
      expect(line._aws.CloudWatchMetrics[0]).toMatchObject({
        Namespace: "Shop",
        Dimensions: [["service"]],
      });
      for (const name of names[index] ?? []) {
        expect(metricNames).toContain(name);
        expect(line[name]).toBeTypeOf("number");
      }
    }
  });
});
