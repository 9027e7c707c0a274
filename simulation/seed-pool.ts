/**
 * Runs seeds in child processes, as many at a time as asked for. A seed that does not come back in
 * real time is given up as a hang, and its process with it; a process that dies takes its seed's
 * verdict along.
 */
import { fork, type ChildProcess } from "node:child_process";
import type { SeedAnswer, SeedOrder } from "./seed-process.ts";

export type SeedResult =
  | { readonly kind: "answered"; readonly order: SeedOrder; readonly answer: SeedAnswer }
  | { readonly kind: "lost"; readonly order: SeedOrder; readonly reason: string };

const seedRealMsMax = 5 * 60_000;
const heapMegabytes = 2_048;

/**
 * Yields results as they come, in no particular order; stops taking orders when the consumer stops.
 * @param file the bundle of instrumented-build.ts.
 */
export async function* runSeeds(
  file: string,
  orders: Iterable<SeedOrder>,
  jobs: number,
): AsyncGenerator<SeedResult, void, void> {
  const workers = Array.from({ length: jobs }, () => new Worker(file));
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
  #child: ChildProcess | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  run(order: SeedOrder): Promise<SeedResult> {
    const child = (this.#child ??= this.#start());
    return new Promise((resolve) => {
      const end = (result: SeedResult): void => {
        clearTimeout(timer);
        child.off("message", onMessage);
        child.off("exit", onExit);
        resolve(result);
      };
      const onMessage = (answer: unknown): void => {
        end({ kind: "answered", order, answer: answer as SeedAnswer });
      };
      const onExit = (code: number | null, signal: string | null): void => {
        this.#child = undefined;
        end({ kind: "lost", order, reason: `its process ended: ${String(signal ?? code)}` });
      };
      const timer = setTimeout(() => {
        child.off("exit", onExit);
        this.stop();
        end({ kind: "lost", order, reason: "it did not end in real time" });
      }, seedRealMsMax);
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
