/** A request with several faults: docs/protocol.md §3 says which of them counts. */
import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { outcomes } from "../../core/verdict-kinds.ts";
import { sweep } from "../harness/sweep.ts";
import {
  certify,
  hash,
  id,
  keyOf,
  newOracle,
  simpleWrite,
  smallBounds,
  startTimestamp,
  type TestRecord,
  type TestRequest,
} from "./oracle-harness.ts";
import { asModelVerdict, OracleModel } from "./oracle-model.ts";

const firstMs = startTimestamp / 1000 + 1;
const lastMs = firstMs + smallBounds.windowMicros / 1000;
const written = simpleWrite(1);
const barred = simpleWrite(2);
/**
 * Two decisions: the first has left the window and is the floor, the second is in it. Then one that
 * is prepared and open.
 */
const before: readonly TestRecord[] = [
  { sequence: 1n, arrivalMs: firstMs, requests: [{ id: id(1), checkedTo: startTimestamp }] },
  {
    sequence: 2n,
    arrivalMs: lastMs,
    requests: [
      { id: id(2), checkedTo: startTimestamp, writes: [written] },
      { id: id(4), checkedTo: firstMs * 1000, writes: [barred], kind: "prepare" },
    ],
  },
];
const floor = firstMs * 1000;
const last = lastMs * 1000 + 1;

const others = Array.from({ length: limits.transactionKeysMax }, (_, n) => hash(1_000 + n));
const checks = {
  few: [keyOf(written)],
  open: [keyOf(written), keyOf(barred)],
  many: [keyOf(written), ...others],
};

type Faults = Required<Pick<TestRequest, "id" | "checkedTo" | "kind" | "isolation">> &
  Pick<TestRequest, "spilled" | "tableFault"> & { readonly keys: keyof typeof checks };

/** Each list begins with what is right. */
const faults: { readonly [Name in keyof Required<Faults>]: readonly Faults[Name][] } = {
  id: [id(3), id(2), id(4)],
  checkedTo: [last, floor, floor - 1, last + 1],
  kind: ["commit", "abort", "prepare", "vote"],
  spilled: [undefined, "read", "unreadable", "unread", "too-large"],
  keys: ["few", "open", "many"],
  tableFault: [undefined, "unknown", "differs"],
  isolation: ["serializable", "snapshot"],
};

/** Every combination. */
function requests(): readonly TestRequest[] {
  const combinations = Object.entries(faults).reduce<readonly object[]>(
    (rows, [name, values]) =>
      rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value }))),
    [{}],
  ) as readonly Faults[];
  // Ten thousand keys take their time.
  const taken = combinations.filter(({ keys }, n) => keys !== "many" || n % sweep(5, 1) === 0);
  return taken.map(({ keys, spilled, tableFault, ...rest }) => ({
    ...rest,
    checks: checks[keys],
    ...(spilled === undefined ? {} : { spilled }),
    ...(tableFault === undefined ? {} : { tableFault }),
  }));
}

test("of several faults the one counts that comes first in the rules", () => {
  const met = new Set<string>();
  for (const request of requests()) {
    const records = [...before, { sequence: 3n, arrivalMs: lastMs, requests: [request] }];
    const model = new OracleModel(startTimestamp, smallBounds);
    const expected = records.flatMap((record) =>
      record.requests.flatMap((each) => model.certify(each, record.arrivalMs) ?? []),
    );
    const blocks = certify(newOracle(smallBounds), records);
    const verdicts = blocks.flatMap((block) => block.verdicts);
    expect(verdicts.map(asModelVerdict)).toEqual(expected);
    const verdict = verdicts[3];
    if (verdict?.kind === "committed" && verdict.stamps !== undefined) met.add("voted");
    else
      met.add(verdict?.kind === "aborted" ? verdict.reason.kind : (verdict?.kind ?? "duplicate"));
  }
  // Those of several shards: test/traces/oracle-parts.trace.
  const ofOneShard = outcomes.filter((each) => each !== "counted" && each !== "elsewhere");
  expect([...met].sort()).toEqual([...ofOneShard, "duplicate"].sort());
});

test.each([
  ["prepare", limits.preparedWritesMax, "prepared"],
  ["prepare", limits.preparedWritesMax + 1, "too-large"],
  ["commit", limits.preparedWritesMax + 1, "committed"],
] as const)("one to %s that writes %i items is %s", (kind, count, outcome) => {
  const writes = Array.from({ length: count }, (_, n) => simpleWrite(n));
  const request = { id: id(1), kind, checkedTo: startTimestamp, writes };
  const [block] = certify(newOracle(), [{ sequence: 1n, arrivalMs: lastMs, requests: [request] }]);
  expect(block?.verdicts.map(asModelVerdict)).toMatchObject([
    { kind: outcome === "too-large" ? "aborted" : outcome },
  ]);
  const [verdict] = block?.verdicts ?? [];
  expect(verdict?.kind === "aborted" ? verdict.reason.kind : verdict?.kind).toBe(outcome);
});
