/**
 * The way from a process to a service and back: latency, and everything that may go wrong on it.
 * One try of one call; who repeats calls is the client (kernel/aws-clients.ts).
 */
import { ServiceError } from "../../expressions/service-error.ts";
import { NotModelledError } from "../cloud/not-modelled.ts";
import type { Faults } from "./faults.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { ServiceTrouble } from "./service-trouble.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { Trace } from "./trace.ts";
import type { VirtualTime } from "./virtual-time.ts";
import type { Weather } from "./weather.ts";

export type ServiceName = "dynamodb" | "kinesis";

export type ServiceCall = {
  readonly service: ServiceName;
  /** As the API names it: `PutItem`. */
  readonly operation: string;
  /** Table or stream, for the trace. */
  readonly target: string;
  /** Of a put into the log: its partition, a shard's or that of a spilled payload. */
  readonly partition?: string | undefined;
  /** What happens at the service; throws its refusal. A promise where it takes virtual time. */
  readonly perform: () => unknown;
};

type Try = {
  readonly process: SimulatedProcess;
  readonly call: ServiceCall;
  readonly where: string;
};

/** Milliseconds of one round trip without faults. */
export type Latency = (
  call: Pick<ServiceCall, "service" | "operation" | "target">,
  random: SeededRandom,
) => number;

/** Most calls take 2 to 10 ms, few some tens. */
export const latencyDefault: Latency = (_call, random) =>
  random.chance(0.02) ? random.between(10, 60) : random.logarithmic(2, 10);

/** How long a request may be under way: a signature is accepted for 5 minutes. */
const requestLateMsMax = 4 * 60_000;
const freezeMsMin = 20;
const freezeMsMax = 30 * 60_000;
const slowFactorMin = 5;
const slowFactorMax = 40;
/** How long an answer may be under way. */
const slowAnswerMsMin = 50;
const slowAnswerShareMax = 0.9;
/** Share of calls refused during a storm. */
const stormShare = 0.8;
/** As a place of the weather. */
const theLog = "log";
const logTable = /^tidemark-.+-log$/u;
const spilledPartition = /^spill#/u;

export class ServiceLink {
  readonly #time: VirtualTime;
  readonly #faults: Faults;
  readonly #weather: Weather;
  readonly #trouble: ServiceTrouble | undefined;
  readonly #trace: Trace;
  readonly #latency: Latency;
  readonly #callTimeoutMs: number;
  readonly #answersGaps: boolean;
  #calls = 0;

  constructor(parts: {
    readonly time: VirtualTime;
    readonly faults: Faults;
    readonly weather: Weather;
    readonly trouble?: ServiceTrouble;
    readonly trace: Trace;
    readonly latency: Latency;
    readonly callTimeoutMs: number;
    /**
     * Answer what the model lacks to the caller, who is a test. Default false: the program's own
     * adapters would take it for a service that is unavailable, and try again.
     */
    readonly answersGaps?: boolean;
  }) {
    this.#answersGaps = parts.answersGaps ?? false;
    this.#time = parts.time;
    this.#faults = parts.faults;
    this.#weather = parts.weather;
    this.#trouble = parts.trouble;
    this.#trace = parts.trace;
    this.#latency = parts.latency;
    this.#callTimeoutMs = parts.callTimeoutMs;
    for (const service of ["dynamodb", "kinesis"]) {
      this.#weather.add("throttling-storm", service);
      this.#weather.add("slow-service", service);
    }
    this.#weather.add("log-throttled", theLog);
    this.#weather.add("append-denied", theLog);
  }

  /** Calls made so far. */
  get calls(): number {
    return this.#calls;
  }

  /** One try. Settles in the process that made it, and only while that process lives. */
  try(
    process: SimulatedProcess,
    call: ServiceCall,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    this.#calls += 1;
    const where = `${process.name} ${call.operation} ${call.target}`;
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(abortError());
        return;
      }
      if (this.#meetsProcessFault(process, where)) return;
      const abort = (): void => {
        reject(abortError());
      };
      signal?.addEventListener("abort", abort, { once: true });
      const answer = (settle: () => void, what: string): void => {
        process.deliver(() => {
          signal?.removeEventListener("abort", abort);
          this.#trace.note(this.#time.nowMs, `${where} -> ${what}`);
          if (this.#faults.strikes("crash-after-call", where)) process.crash();
          else settle();
        });
      };
      const fail = (error: Error): void => {
        answer(() => {
          reject(error);
        }, error.name);
      };
      const unheard = (): void => {
        const random = this.#faults.of("answer-lost");
        const reset = random.chance(0.3);
        const waitMs = reset ? random.between(1, this.#callTimeoutMs) : this.#callTimeoutMs;
        this.#time.after(waitMs, () => {
          fail(reset ? connectionReset() : timeoutError());
        });
      };
      this.#leave(process, where, (heldMs) => {
        const { thereMs, backMs, arrives, late } = this.#journey({ process, call, where, heldMs });
        if (!arrives || late) unheard();
        if (!arrives) return;
        this.#time.after(thereMs, () => {
          void this.#arrive({ process, call, where }).then(({ settle, heard, what }) => {
            this.#trace.note(this.#time.nowMs, `${where} arrived: ${what}`);
            if (late) return;
            if (!heard) {
              unheard();
              return;
            }
            this.#time.after(backMs + this.#slowAnswerMs(where), () => {
              answer(() => {
                settle(resolve, reject);
              }, what);
            });
          });
        });
      });
    });
  }

  /**
   * Lets a call out that is made and signed: now, or when a process that stops there goes on.
   */
  #leave(process: SimulatedProcess, where: string, goOut: (heldMs: number) => void): void {
    if (!this.#faults.strikes("freeze-before-call", where)) {
      goOut(0);
      return;
    }
    const sinceMs = this.#time.nowMs;
    process.freeze(
      this.#faults.of("freeze-before-call").logarithmic(freezeMsMin, requestLateMsMax),
    );
    process.deliver(() => {
      goOut(this.#time.nowMs - sinceMs);
    });
  }

  /**
   * Whether the process is dead, or dies here; a freeze lets the call go out, as a stopped
   * machine's socket buffers do.
   */
  #meetsProcessFault(process: SimulatedProcess, where: string): boolean {
    // One that was ended by what it does itself runs on to its next await.
    if (process.state === "dead") return true;
    if (this.#faults.strikes("crash-before-call", where)) {
      process.crash();
      return true;
    }
    if (this.#faults.strikes("freeze-at-call", where)) {
      process.freeze(this.#faults.of("freeze-at-call").logarithmic(freezeMsMin, freezeMsMax));
    }
    if (this.#faults.strikes("suspend-at-call", where)) {
      const random = this.#faults.of("suspend-at-call");
      process.freeze(random.logarithmic(freezeMsMin, freezeMsMax), "stand");
    }
    return false;
  }

  /** Held and late, a request is under way for no longer than its signature is good for. */
  #journey({ process, call, where, heldMs }: Try & { readonly heldMs: number }): {
    thereMs: number;
    backMs: number;
    arrives: boolean;
    late: boolean;
  } {
    let totalMs = this.#latency(call, process.random);
    if (this.#weather.isActive("slow-service", call.service)) {
      totalMs *= this.#faults.of("slow-service").between(slowFactorMin, slowFactorMax);
    }
    totalMs *= this.#trouble?.slowFactor(call.service) ?? 1;
    const thereMs = totalMs * process.random.between(0.3, 0.7);
    const late = this.#faults.strikes("request-late", where);
    const delayMs = late
      ? this.#faults.of("request-late").logarithmic(this.#callTimeoutMs, requestLateMsMax)
      : 0;
    const isLost = this.#faults.strikes("request-lost", where);
    return {
      thereMs: thereMs + Math.min(delayMs, Math.max(0, requestLateMsMax - heldMs)),
      backMs: totalMs - thereMs,
      arrives: !isLost && heldMs <= requestLateMsMax,
      late,
    };
  }

  #slowAnswerMs(where: string): number {
    if (!this.#faults.strikes("answer-slow", where)) return 0;
    const maxMs = this.#callTimeoutMs * slowAnswerShareMax;
    return this.#faults.of("answer-slow").logarithmic(slowAnswerMsMin, maxMs);
  }

  async #arrive({ process, call, where }: Try): Promise<{
    heard: boolean;
    what: string;
    settle: (resolve: (output: unknown) => void, reject: (error: Error) => void) => void;
  }> {
    const refusal = this.#refusal({ process, call, where });
    const failed = (error: Error, heard = true) => ({
      heard,
      what: error.name,
      settle: (_resolve: unknown, reject: (error: Error) => void): void => {
        reject(error);
      },
    });
    if (refusal !== undefined) return failed(refusal);
    try {
      const output = await call.perform();
      if (this.#faults.strikes("service-error-after-effect", where)) return failed(internalError());
      return {
        heard: !this.#faults.strikes("answer-lost", where),
        what: "done",
        settle: (resolve) => {
          resolve(output);
        },
      };
    } catch (error) {
      if (this.#answersGaps && error instanceof NotModelledError) return failed(error);
      if (!(error instanceof ServiceError)) throw error;
      return failed(error, !this.#faults.strikes("answer-lost", where));
    }
  }

  #refusal({ process, call, where }: Try): ServiceError | undefined {
    const append = isAppend(call);
    if (append && !process.isAws && this.#weather.isActive("append-denied", theLog)) {
      return new ServiceError("AccessDeniedException", {
        message: "User is not authorized to perform: dynamodb:PutItem",
        status: 400,
      });
    }
    const storm =
      this.#storms("throttling-storm", call.service) ||
      (append && this.#storms("log-throttled", theLog));
    const refused = this.#trouble?.refuses(call.service) ?? false;
    if (storm || refused || this.#faults.strikes("throttled", where)) {
      return new ServiceError("ProvisionedThroughputExceededException", {
        message: "The level of configured provisioned throughput was exceeded",
        status: 400,
      });
    }
    return this.#faults.strikes("service-error", where) ? internalError() : undefined;
  }

  #storms(fault: "throttling-storm" | "log-throttled", place: string): boolean {
    return this.#weather.isActive(fault, place) && this.#faults.of(fault).chance(stormShare);
  }
}

/** Chunks of spilled payloads lie beside the blocks; every writer has the right to put them. */
function isAppend({ operation, target, partition = "" }: ServiceCall): boolean {
  return operation === "PutItem" && logTable.test(target) && !spilledPartition.test(partition);
}

function internalError(): ServiceError {
  return new ServiceError("InternalServerError", { message: "Internal server error", status: 500 });
}

function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

function timeoutError(): Error {
  return named("TimeoutError", "the request took longer than its time limit");
}

function connectionReset(): Error {
  return Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
}

function abortError(): Error {
  return named("AbortError", "Request aborted");
}
