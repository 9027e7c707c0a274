/** What the clients of the traffic have told: a bounded number of courses and conflicts. Pure. */
import * as limits from "../limits.ts";
import type { Step, TrafficConflict } from "../wire.ts";
import {
  noCounts,
  type FromTraffic,
  type MetConflict,
  type TrafficCounts,
  type TransferCourse,
} from "./messages.ts";

type Met = { -readonly [Name in keyof TrafficConflict]: TrafficConflict[Name] };

export class TrafficMemory {
  #counts: TrafficCounts = noCounts;
  #courses: readonly TransferCourse[] = [];
  #byId: ReadonlyMap<string, TransferCourse> | undefined;
  readonly #conflicts = new Map<string, Met>();

  get counts(): TrafficCounts {
    return this.#counts;
  }

  note({ counts, courses, conflicts }: Extract<FromTraffic, { kind: "told" }>): void {
    const before = this.#counts;
    this.#counts = {
      committed: before.committed + counts.committed,
      attempts: before.attempts + counts.attempts,
      conflicts: before.conflicts + counts.conflicts,
      failed: before.failed + counts.failed,
      unknown: before.unknown + counts.unknown,
    };
    if (courses.length > 0) {
      this.#courses = [...this.#courses, ...courses].slice(-limits.coursesKept);
      this.#byId = undefined;
    }
    for (const each of conflicts) this.#meet(each);
  }

  /** Nothing for an id that none of them had, or too long ago. */
  course(id: string): readonly Step[] {
    this.#byId ??= new Map(
      this.#courses.flatMap((course) => course.ids.map((each) => [each, course] as const)),
    );
    return this.#byId.get(id)?.steps ?? [];
  }

  /** The most contended first. */
  conflicts(): readonly TrafficConflict[] {
    const all = [...this.#conflicts.values()].sort((a, b) => b.conflicts - a.conflicts);
    return all.slice(0, limits.contendedMax);
  }

  #meet({ table, key, early, attempt, id, version }: MetConflict): void {
    const name = JSON.stringify([table, key]);
    const known = this.#conflicts.get(name);
    const met: Met = known ?? {
      ...{ table, key, conflicts: 0, early: 0, attemptsMax: 0, losers: [] },
    };
    met.conflicts += 1;
    if (early) met.early += 1;
    met.attemptsMax = Math.max(met.attemptsMax, attempt);
    const loser = { id, ...(version === undefined ? {} : { version }) };
    met.losers = [loser, ...met.losers].slice(0, limits.losersKept);
    if (known !== undefined) return;
    this.#conflicts.set(name, met);
    if (this.#conflicts.size <= limits.trafficConflictKeysKept) return;
    const [oldest] = this.#conflicts.keys();
    if (oldest !== undefined) this.#conflicts.delete(oldest);
  }
}
