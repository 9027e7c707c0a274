/** The demo's shop from its opening to its audit; without `--native` there is none. */
import type { Client } from "../../sdk/index.ts";
import { discover, type StackDescription } from "../../sdk/discovery.ts";
import type { DemoOptions } from "../options.ts";
import type { ProcessLogs } from "../process-logs.ts";
import { NativeFleet } from "./native-fleet.ts";
import { auditShop, openShop, type ShopAudit } from "./shop.ts";

export type ShopReport = Omit<ShopAudit, "faults"> & {
  /** Native programs that were killed. */
  readonly kills: number;
};

type Surroundings = {
  readonly options: DemoOptions;
  readonly db: Client;
  readonly endpoint: string;
  readonly folder: string;
  readonly runId: string;
  readonly logs: ProcessLogs;
  readonly scripts: { readonly native: string };
};

export class DemoShop {
  readonly #surroundings: Surroundings;
  readonly #fleet: NativeFleet | undefined;

  private constructor(surroundings: Surroundings, fleet: NativeFleet | undefined) {
    this.#surroundings = surroundings;
    this.#fleet = fleet;
  }

  static async open(surroundings: Surroundings): Promise<DemoShop> {
    const { options, endpoint, folder, runId, logs, scripts } = surroundings;
    if (!options.native) return new DemoShop(surroundings, undefined);
    await openShop(surroundings, await discover(endpoint));
    const settings = { endpoint, folder, runId, seed: options.seed };
    const fleet = new NativeFleet(settings, { script: scripts.native, logs });
    if (options.chaos) fleet.startKilling();
    return new DemoShop(surroundings, fleet);
  }

  /** @returns ends that nobody ordered, one line each. */
  async close(): Promise<readonly string[]> {
    await this.#fleet?.stop();
    return this.#fleet?.deaths ?? [];
  }

  /** When all is installed. */
  async audit(
    stack: StackDescription,
  ): Promise<{ readonly report: ShopReport | undefined; readonly faults: readonly string[] }> {
    if (this.#fleet === undefined) return { report: undefined, faults: [] };
    const { faults, ...report } = await auditShop(stack, this.#surroundings);
    return { report: { ...report, kills: this.#fleet.kills }, faults };
  }
}
