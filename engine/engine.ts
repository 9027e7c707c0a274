/**
 * The engine with everything: what the SDK has (client-engine.ts), and the transactions without a
 * closure of the REST service.
 */
import type { ClientPorts } from "../core/ports.ts";
import { clientEngineOf } from "./client-engine.ts";
import { begin, committedAs, resume } from "./detached.ts";
import { EngineCore, type EngineOptions } from "./engine-core.ts";
import type { Engine } from "./types.ts";

export function createEngine(ports: ClientPorts, options: EngineOptions = {}): Engine {
  const core = new EngineCore(ports, options);
  return {
    ...clientEngineOf(core, options),
    begin: (given) => begin(core, given),
    resume: (state, given) => resume(core, state, given),
    committedAs: (state, given) => committedAs(core, state, given),
  };
}
