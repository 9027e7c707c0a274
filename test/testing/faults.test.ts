/** Faults by chance: their knobs, their counts, and that each draws for itself alone. */
import { expect, test } from "vitest";
import { Faults, faultNames, type FaultName, type FaultPlan } from "../../testing/kernel/faults.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { Trace } from "../../testing/kernel/trace.ts";
import { VirtualTime } from "../../testing/kernel/virtual-time.ts";
import { Weather } from "../../testing/kernel/weather.ts";

function faultsWith(plan: FaultPlan, strikesMax?: number) {
  const told: string[] = [];
  const faults = new Faults({
    plan,
    random: new SeededRandom("faults"),
    strikesMax,
    onStrike: (name, where) => told.push(`${name} at ${where}`),
  });
  return { faults, told };
}

/** Which of 200 opportunities the fault takes. */
function strikesOf(faults: Faults, name: FaultName): readonly number[] {
  return Array.from({ length: 200 }, (_, i) => i).filter(() => faults.strikes(name, "here"));
}

test("what is off never strikes, and what is certain always does", () => {
  const { faults } = faultsWith({ throttled: 1, "answer-lost": 0 });
  for (const name of faultNames) {
    expect(strikesOf(faults, name)).toHaveLength(name === "throttled" ? 200 : 0);
    expect(faults.isOn(name)).toBe(name === "throttled");
  }
});

test("a fault strikes as often as it is likely, is counted, and is told where", () => {
  const { faults, told } = faultsWith({ throttled: 0.1 });
  const struck = Array.from({ length: 100 }, () => strikesOf(faults, "throttled")).flat().length;
  expect(struck).toBeGreaterThan(1_800);
  expect(struck).toBeLessThan(2_200);
  expect(faults.struck).toEqual(new Map([["throttled", struck]]));
  expect(told).toHaveLength(struck);
  expect(told[0]).toBe("throttled at here");
});

test("switching one fault off, or asking about it, leaves all others' strikes alone", () => {
  const alone = strikesOf(faultsWith({ throttled: 0.2 }).faults, "throttled");
  const { faults } = faultsWith({ throttled: 0.2, "answer-lost": 0.5 });
  const beside: number[] = [];
  for (let i = 0; i < 200; i += 1) {
    faults.strikes("answer-lost", "there");
    faults.of("answer-lost").next();
    if (faults.strikes("throttled", "here")) beside.push(i);
  }
  expect(beside).toEqual(alone);
  expect(alone.length).toBeGreaterThan(20);
});

test("at most so many strike in all, and the first ones are the same", () => {
  const all = strikesOf(faultsWith({ throttled: 0.2 }).faults, "throttled");
  const few = strikesOf(faultsWith({ throttled: 0.2 }, 3).faults, "throttled");
  expect(few).toEqual(all.slice(0, 3));
});

test("none strikes while it is calm", () => {
  const { faults } = faultsWith({ throttled: 1 });
  faults.calm();
  expect(faults.strikes("throttled", "here")).toBe(false);
  expect(faults.isOn("throttled")).toBe(false);
  faults.resume();
  expect(faults.strikes("throttled", "here")).toBe(true);
});

test("a fault that lasts does so at its place only, ends, and ends with the calm", async () => {
  const time = new VirtualTime(0);
  const { faults } = faultsWith({ "slow-service": 1 }, 1);
  const weather = new Weather({ time, faults, trace: new Trace({ keepLines: false }) });
  weather.add("slow-service", "dynamodb");
  weather.add("slow-service", "kinesis");
  const isActive = (place: string): boolean => weather.isActive("slow-service", place);
  await time.runUntil(time.sleep(1_500), 10_000);
  expect([isActive("dynamodb"), isActive("kinesis")]).toEqual([true, false]);
  await time.runUntil(time.sleep(30_000), 60_000);
  expect(isActive("dynamodb")).toBe(false);

  const endless = faultsWith({ "slow-service": 1 }).faults;
  const stormy = new Weather({ time, faults: endless, trace: new Trace({ keepLines: false }) });
  stormy.add("slow-service", "dynamodb");
  await time.runUntil(time.sleep(1_500), 10_000);
  expect(stormy.isActive("slow-service", "dynamodb")).toBe(true);
  stormy.clear();
  expect(stormy.isActive("slow-service", "dynamodb")).toBe(false);
  stormy.stop();
});
