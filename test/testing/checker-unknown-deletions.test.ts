/** A deletion that nobody knows the end of may be what somebody read. */
import { describe, expect, test } from "vitest";
import { checkHistory } from "../../testing/checker/check-history.ts";
import { during, init, tx, unknown } from "./history-builder.ts";

const start = init("w x 0");

describe("a deletion of unknown outcome: finds nothing", () => {
  test("where it explains what was read before the key was written again", () => {
    const transactions = [start, tx("a", "d x 1", unknown), tx("b", "r x -, w x 2")];
    expect(checkHistory({ transactions }, { strict: true }).findings).toEqual([]);
  });

  test("where it may lie between versions whose order nobody knows", () => {
    const transactions = [
      tx("a", "r x -, w x 1"),
      tx("b", "d x 2", unknown),
      tx("c", "w x 3", during(10, 20)),
      tx("d", "r x -", during(30, 40)),
    ];
    const { findings, undecided } = checkHistory({ transactions }, { strict: true });
    expect(findings).toEqual([]);
    expect(undecided).toEqual({ keys: 1, nullReads: 2 });
  });
});
