/** Hand-made histories in few words. */
import type { HistoryOp, HistoryTransaction } from "../../testing/history/types.ts";

type Extra = Partial<Omit<HistoryTransaction, "id" | "ops">>;

/**
 * A transaction from a line such as `r x -`, `w x 1`, `d x 2`, `a x 3`, separated by commas: op,
 * key, version; `-` is nothing. A version is named after its key, unless it begins with `=`.
 * Serializable, committed, and overlapping all others unless said otherwise.
 */
export function tx(id: string, steps: string, extra: Extra = {}): HistoryTransaction {
  const ops = steps
    .split(",")
    .map((step) => step.trim())
    .filter((step) => step !== "")
    .map((step): HistoryOp => {
      const [kind, key, version] = step.split(" ");
      if (key === undefined || version === undefined) throw new Error(`no step: ${step}`);
      switch (kind) {
        case "r":
        case "x":
          return [kind, key, version === "-" ? null : versionName(key, version)];
        case "w":
        case "d":
        case "a":
          return [kind, key, versionName(key, version)];
        default:
          throw new Error(`no step: ${step}`);
      }
    });
  return {
    id,
    process: "p",
    start: 10,
    end: 100,
    status: "commit",
    kind: "txn",
    isolation: "serializable",
    ops,
    ...extra,
  };
}

export function init(steps: string): HistoryTransaction {
  return tx("init", steps, { kind: "init", start: 0, end: 0 });
}

export const snapshot = { isolation: "snapshot" } as const;
export const aborted = { status: "abort" } as const;
export const unknown = { status: "unknown" } as const;

/** Its place in real time. */
export function during(start: number, end: number): Extra {
  return { start, end };
}

/** Version orders from `x: 1 2 3`. */
export function orders(...lines: readonly string[]): { key: string; versions: string[] }[] {
  return lines.map((line) => {
    const [key = "", names = ""] = line.split(":");
    const versions = names.split(" ").filter((version) => version !== "");
    return { key, versions: versions.map((version) => versionName(key, version)) };
  });
}

function versionName(key: string, version: string): string {
  return version.startsWith("=") ? version.slice(1) : `${key}${version}`;
}
