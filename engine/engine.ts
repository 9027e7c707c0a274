/**
 * The engine with everything: transactions (transaction-engine.ts), and those without a closure of
 * the REST service.
 */
import type { ClientPorts } from "../core/ports.ts";
import { begin, committedAs, resume } from "./detached.ts";
import { EngineCore, type EngineOptions } from "./engine-core.ts";
import { transactionEngineOf } from "./transaction-engine.ts";
import type { Engine } from "./types.ts";

export function createEngine(ports: ClientPorts, settings: EngineOptions = {}): Engine {
  const core = new EngineCore(ports, settings);
  return {
    ...transactionEngineOf(core),
    begin: (options) => begin(core, options),
    resume: (state, options) => resume(core, state, options),
    committedAs: (state, options) => committedAs(core, state, options),
  };
}
