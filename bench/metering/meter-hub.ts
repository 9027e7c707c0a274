/**
 * Where the functions' processes report what they asked of the stores: a listener on loopback in
 * the benchmark's own process. Functions connect when they start (they learn the port from the
 * environment, and a restarted one connects anew) and speak only when asked, so a timed run carries
 * nothing of it.
 */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { add, type Cost, noCost } from "../cost.ts";
import { meterPortVariable, type MeterAnswer, type MeterRequest } from "./meter-messages.ts";

export type MeterHub = {
  /** For the environment of the processes to be metered. */
  readonly environment: Readonly<Record<string, string>>;
  /** Resolves when so many functions have connected. */
  connected(count: number): Promise<void>;
  count(on: boolean): void;
  /** By role, since its process started. */
  read(): Promise<ReadonlyMap<string, Cost>>;
  stop(): Promise<void>;
};

type Reporter = {
  readonly socket: Socket;
  answered: ((answer: MeterAnswer) => void) | undefined;
};

export async function startMeterHub(): Promise<MeterHub> {
  const reporters = new Set<Reporter>();
  const server = createServer((socket) => {
    const reporter: Reporter = { socket, answered: undefined };
    reporters.add(reporter);
    // A function that is killed while it is asked says nothing more; its figures are gone with it.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      reporters.delete(reporter);
      reporter.answered?.({ role: "gone", cost: noCost });
    });
    createInterface({ input: socket }).on("line", (line) => {
      reporter.answered?.(JSON.parse(line) as MeterAnswer);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const say = (reporter: Reporter, request: MeterRequest): void => {
    reporter.socket.write(`${request}\n`);
  };
  return {
    environment: { [meterPortVariable]: port.toString() },
    async connected(count) {
      while (reporters.size < count) await once(server, "connection");
    },
    count(on) {
      for (const reporter of reporters) say(reporter, on ? "on" : "off");
    },
    async read() {
      const answers = await Promise.all(
        [...reporters].map((reporter) => {
          const answer = new Promise<MeterAnswer>((resolve) => (reporter.answered = resolve));
          say(reporter, "read");
          return answer;
        }),
      );
      const costs = new Map<string, Cost>();
      for (const { role, cost } of answers) costs.set(role, add(costs.get(role) ?? noCost, cost));
      return costs;
    },
    async stop() {
      for (const { socket } of reporters) socket.destroy();
      const closed = once(server, "close");
      server.close();
      await closed;
    },
  };
}
