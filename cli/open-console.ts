/**
 * The one door to the console, which stands above this folder: it is loaded when it is opened, with
 * what it needs and no other command does.
 */
import { systemClock, systemRandom } from "../aws/system.ts";
import type { EmbeddedStack } from "../localstack/embedded-stack.ts";
import type { ClientOptions } from "../sdk/tables.ts";
import { defaultPorts } from "./default-ports.ts";
import { builtTraffic, packageVersion, trafficEntry } from "./package.ts";

export type RunningConsole = {
  /** With the token of this start, which opens everything. */
  readonly url: string;
  close(): Promise<void>;
};

export type ConsolePort = {
  /** Undefined: the usual one, or any that is free. */
  readonly port: number | undefined;
  /** By which another one is chosen. */
  readonly option: string;
};

const shared = { clock: systemClock, version: packageVersion(), report };

/** Of any deployment: it only reads. @throws StackError for a port that cannot be had. */
export async function openConsole(
  where: ClientOptions,
  { port, option }: ConsolePort,
): Promise<RunningConsole> {
  const { serveConsole } = await import("../console/server/serve.ts");
  const wanted = { port: port ?? defaultPorts.console, option, mayMove: port === undefined };
  return serveConsole({ ...wanted, ...shared, where });
}

/** Of the stack that this process runs: there it can make faults. @throws as `openConsole`. */
export async function openStackConsole(
  stack: EmbeddedStack,
  { port, option }: ConsolePort,
): Promise<RunningConsole> {
  const [{ serveConsole }, { StackBreaker }] = await Promise.all([
    import("../console/server/serve.ts"),
    import("../console/server/breaker.ts"),
  ]);
  const wanted = { port: port ?? defaultPorts.console, option, mayMove: port === undefined };
  const where = { endpoint: stack.endpoint };
  const script = async (): Promise<string> => builtTraffic() ?? (await bundledTraffic());
  const breaker = new StackBreaker({ stack, clock: systemClock, random: systemRandom, script });
  const served = await serveConsole({ ...wanted, ...shared, where, breaker });
  return {
    url: served.url,
    async close() {
      await served.close();
      await breaker.close();
    },
  };
}

/** In a clone the program of the traffic's clients is built when it is first needed. */
async function bundledTraffic(): Promise<string> {
  const { bundleScripts } = await import("../localstack/stack-bundle.ts");
  const scripts = await bundleScripts(new Map([trafficEntry]));
  return scripts.get(trafficEntry[0]) ?? "";
}

function report(error: unknown): void {
  console.error(error);
}
