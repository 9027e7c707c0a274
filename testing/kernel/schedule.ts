/**
 * A function on a schedule, as EventBridge runs it: at least roughly every so often, never in step
 * with anything.
 */
import type { Faults } from "./faults.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { SimulatedFunction } from "./simulated-function.ts";
import type { Trace } from "./trace.ts";
import type { VirtualTime } from "./virtual-time.ts";

export async function runSchedule(
  fn: Pick<SimulatedFunction<undefined, unknown>, "name" | "invoke">,
  everyMs: number,
  world: {
    readonly time: VirtualTime;
    readonly faults: Faults;
    readonly random: SeededRandom;
    readonly trace: Trace;
  },
): Promise<never> {
  for (;;) {
    await world.time.sleep(everyMs * world.random.between(0.9, 1.1));
    if (world.faults.strikes("schedule-skipped", fn.name)) continue;
    await fn.invoke(undefined).catch((error: unknown) => {
      world.trace.note(world.time.nowMs, `${fn.name} failed: ${String(error)}`);
    });
  }
}
