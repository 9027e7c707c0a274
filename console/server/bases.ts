/** BASE transactions as their records tell, as far as these are installed. */
import type { StepRecord } from "../../engine/base/record.ts";
import { isStuck, oneBase, openBases, takesBases, type SeenBase } from "../../inspection/bases.ts";
import * as limits from "../limits.ts";
import type { BaseLine, BasePage, BasesPage, BaseStepLine } from "../wire.ts";
import type { Sight } from "./sight.ts";

/** First those that wait for somebody: damaged ones and parked ones; then the oldest. */
export async function basesPage(sight: Sight): Promise<BasesPage> {
  const { deployment } = await sight.seen();
  const nowMs = sight.clock.nowMs();
  if (!takesBases(deployment))
    return { nowMs, isTaken: false, all: 0, parked: 0, damaged: 0, bases: [] };
  const { bases, all } = await openBases(deployment);
  const damaged = bases.filter(({ phase }) => phase === "damaged");
  const parked = bases.filter(({ phase }) => phase === "parked");
  const others = bases.filter((base) => !isStuck(base));
  const shown = [...damaged, ...parked, ...others].slice(0, limits.basesShownMax);
  const counts = { all, parked: parked.length, damaged: damaged.length };
  return { nowMs, isTaken: true, ...counts, bases: shown.map(baseLine) };
}

/** @throws InvalidRequestError where there is none. */
export async function basePage(
  sight: Sight,
  of: { readonly name: string; readonly id: string },
): Promise<BasePage> {
  const { deployment } = await sight.seen();
  const base = await oneBase(deployment, of);
  const { refusal, dependsOn, done } = base;
  return {
    nowMs: sight.clock.nowMs(),
    base: baseLine(base),
    ...(refusal === undefined ? {} : { refusal }),
    dependsOn: dependsOn.slice(0, limits.basesShownMax),
    steps: done.slice(-limits.baseStepsShownMax).map(stepLine),
  };
}

function baseLine(base: SeenBase): BaseLine {
  const { name, id, version, phase, steps, startedMs, lastMs, failures, failure } = base;
  const { retryAtMs } = base;
  return {
    ...{ name, id, version, phase, steps, sinceMs: startedMs, lastMs, failures },
    ...(retryAtMs === undefined ? {} : { retryAtMs }),
    ...(failure === undefined ? {} : { failure }),
  };
}

function stepLine({ number, name, atMs, end, locks }: StepRecord): BaseStepLine {
  const line = { number, name, atMs, locks: locks.length };
  return end.kind === "returned" ? line : { ...line, failure: end.failure };
}
