/**
 * What happens to handlers of BASE transactions between their steps: they wait, and some fail. Of
 * a few all runs fail until they are parked; whoever comes by lets them go on.
 */
import type { NamedBase } from "../../../sdk/base-definition.ts";
import * as limits from "../../../core/limits.ts";
import type { BaseProcess, Client } from "../workload.ts";

const failShare = 0.05;
const waitShare = 0.5;
const pauseMsMin = 1;
const pauseMsMax = 1_500;

/** Short: those that are parked go on while the run lasts. */
export const soonParked = { parkAfterMs: 2_000 } as const;

class HandlerError extends Error {}

export class HandlerTroubles {
  /** By id: how often its handler is still to fail. */
  readonly #stubborn = new Map<string, number>();

  /** Its handler fails until it is parked. */
  stubborn(id: string): void {
    this.#stubborn.set(id, limits.baseFailuresMin);
  }

  /** Between two steps. @throws HandlerError now and then. */
  async between({ random, pause }: BaseProcess, id: string): Promise<void> {
    if (random.chance(waitShare)) await pause(random.logarithmic(pauseMsMin, pauseMsMax));
    const left = this.#stubborn.get(id) ?? 0;
    if (left > 0) this.#stubborn.set(id, left - 1);
    if (left > 0 || random.chance(failShare)) throw new HandlerError(`the handler of ${id} failed`);
  }

  async resumeParked(client: Client, definition: NamedBase<unknown>): Promise<void> {
    const open = await client.openBases();
    for (const { id, phase } of open) {
      if (phase === "parked") await client.baseOf(definition, id).resume();
    }
  }
}
