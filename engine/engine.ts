/**
 * The engine with everything: what the SDK has (client-engine.ts), and the transactions without a
 * closure of the REST service.
 */
import type { ClientPorts } from "../core/ports.ts";
import { clientEngineOf } from "./client-engine.ts";
import { begin, committedAs, resume } from "./detached.ts";
import { EngineCore, type EngineOptions } from "./engine-core.ts";
import type { Engine } from "./types.ts";

export function createEngine(ports: ClientPorts, settings: EngineOptions = {}): Engine {
  const core = new EngineCore(ports, settings);
  return {
    ...clientEngineOf(core),
    begin: (options) => begin(core, options),
    resume: (state, options) => resume(core, state, options),
    committedAs: (state, options) => committedAs(core, state, options),
  };
}
