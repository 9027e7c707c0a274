/**
 * Whoever runs the deployment: changes what is kept of the past while clients are at work. Each
 * change is made from a machine of its own, whose clock may be as wrong as any client's.
 */
import { registerTables } from "../aws/register-tables.ts";
import type { SimulatedProcess } from "../testing/kernel/simulated-process.ts";
import type { TestCloud } from "../testing/test-cloud.ts";

export class Operator {
  readonly #cloud: TestCloud;
  #changes = 0;

  constructor(cloud: TestCloud) {
    this.#cloud = cloud;
  }

  /** The right time: what workloads agree on where clients' clocks differ. */
  get nowMs(): number {
    return this.#cloud.world.time.nowMs;
  }

  async setHistory(name: string, history: boolean): Promise<void> {
    const { deployment, world } = this.#cloud;
    const table = deployment.options.tables.find((each) => each.name === name);
    if (table === undefined) throw new Error(`there is no table ${name}`);
    const { indexes: _indexes, ...described } = table;
    const process = this.#machine();
    const handles = world.handles(process, { calm: true });
    const aws = { handles, clock: process.clock, deployment: deployment.options.deployment };
    await registerTables(aws, [{ ...described, history, access: "transactional" }]);
  }

  async retainHistory(retentionMs: number): Promise<void> {
    const process = this.#machine();
    const { control } = this.#cloud.deployment.portsOf(process, { calm: true });
    await control.retainHistory(retentionMs);
  }

  #machine(): SimulatedProcess {
    this.#changes += 1;
    return this.#cloud.world.startProcess(`operator ${this.#changes.toString()}`);
  }
}
