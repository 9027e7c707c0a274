/**
 * Runs seeds in child processes, as many at a time as asked for. A process that dies takes its
 * seed's verdict along; one that does not come back in real time is given up.
 *
 * Code that never gives its turn of the event loop back stops virtual time and every judge with it:
 * that can only be seen from outside. So each process sends a beat between two events, and one that
 * stands still is ended, long before its time is up.
 */
import { fork, type ChildProcess } from "node:child_process";
import { beatMs, isBeat } from "./heartbeat.ts";
import type { SeedAnswer, SeedOrder } from "./seed-process.ts";

export type SeedResult =
  | { readonly kind: "answered"; readonly order: SeedOrder; readonly answer: SeedAnswer }
  | { readonly kind: "lost"; readonly order: SeedOrder; readonly reason: string };

export type Patience = {
  /** For one seed, in real time. */
  readonly seedMs: number;
  /** For one turn of its event loop. */
  readonly standstillMs: number;
};

const patienceDefault: Patience = { seedMs: 5 * 60_000, standstillMs: 45_000 };
const heapMegabytes = 2_048;

/**
 * Yields results as they come, in no particular order; stops taking orders when the consumer stops.
 * @param file the bundle of instrumented-build.ts.
 */
export async function* runSeeds(
  file: string,
  orders: Iterable<SeedOrder>,
  jobs: number,
  patience: Patience = patienceDefault,
): AsyncGenerator<SeedResult, void, void> {
  const workers = Array.from({ length: jobs }, () => new Worker(file, patience));
  const source = orders[Symbol.iterator]();
  const underWay = new Map<Worker, Promise<{ worker: Worker; result: SeedResult }>>();
  const give = (worker: Worker): void => {
    const next = source.next();
    if (next.done === true) return;
    underWay.set(
      worker,
      worker.run(next.value).then((result) => ({ worker, result })),
    );
  };
  try {
    workers.forEach(give);
    while (underWay.size > 0) {
      const { worker, result } = await Promise.race(underWay.values());
      underWay.delete(worker);
      give(worker);
      yield result;
    }
  } finally {
    for (const worker of workers) worker.stop();
  }
}

class Worker {
  readonly #file: string;
  readonly #patience: Patience;
  #child: ChildProcess | undefined;

  constructor(file: string, patience: Patience) {
    this.#file = file;
    this.#patience = patience;
  }

  run(order: SeedOrder): Promise<SeedResult> {
    const child = (this.#child ??= this.#start());
    return new Promise((resolve) => {
      const end = (result: SeedResult): void => {
        clearTimeout(timer);
        clearInterval(watch);
        child.off("message", onMessage);
        child.off("exit", onExit);
        resolve(result);
      };
      let missed = 0;
      const onMessage = (message: unknown): void => {
        if (isBeat(message)) missed = 0;
        else end({ kind: "answered", order, answer: message as SeedAnswer });
      };
      const onExit = (code: number | null, signal: string | null): void => {
        this.#child = undefined;
        end({ kind: "lost", order, reason: `its process ended: ${String(signal ?? code)}` });
      };
      const giveUp = (reason: string): void => {
        child.off("exit", onExit);
        this.stop();
        end({ kind: "lost", order, reason });
      };
      const { seedMs, standstillMs } = this.#patience;
      const timer = setTimeout(() => {
        giveUp("it did not end in real time");
      }, seedMs);
      // Counted, not measured: time in which this process itself stood still says nothing.
      const watch = setInterval(() => {
        missed += 1;
        if (missed * beatMs < standstillMs) return;
        giveUp("its event loop stands still: something never gives its turn back");
      }, beatMs);
      child.on("message", onMessage);
      child.on("exit", onExit);
      // A child that is gone says so by its exit.
      child.send(order, () => undefined);
    });
  }

  stop(): void {
    this.#child?.removeAllListeners("exit");
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
  }

  #start(): ChildProcess {
    const child = fork(this.#file, [], {
      // The parent may run under a TypeScript loader; the bundle needs none.
      execArgv: ["--enable-source-maps", `--max-old-space-size=${heapMegabytes.toString()}`],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    return child;
  }
}
