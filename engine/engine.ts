/**
 * The engine with everything: transactions (transaction-engine.ts), and those without a closure of
 * the REST service.
 */
import { OnDemand } from "../core/on-demand.ts";
import type { ClientPorts } from "../core/ports.ts";
import { AttemptRunner } from "./attempts/attempt-runner.ts";
import type { BaseDesk } from "./base/base-desk.ts";
import { begin, committedAs, resume } from "./detached.ts";
import { EngineCore, type EngineOptions } from "./engine-core.ts";
import { transactionEngineOf } from "./transaction-engine.ts";
import type { Engine } from "./types.ts";

const desks = new OnDemand("BASE transactions", () => import("./base/base-desk.ts"));

export function createEngine(ports: ClientPorts, settings: EngineOptions = {}): Engine {
  const core = new EngineCore(ports, settings);
  const runner = new AttemptRunner(core);
  let desk: BaseDesk | undefined;
  return {
    ...transactionEngineOf(core, runner),
    bases: async () => {
      desk ??= new (await desks.load()).BaseDesk(core, runner);
      return desk;
    },
    begin: (options) => begin(core, options),
    resume: (state, options) => resume(core, state, options),
    committedAs: (state, options) => committedAs(core, state, options),
  };
}
