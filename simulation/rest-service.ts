/**
 * The REST service in a simulated world: the real application behind a function, called by clients
 * that wait, lose answers and send again. Its engine records like everybody's.
 */
import { createEngine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/engine-core.ts";
import { createApi } from "../functions/api/service.ts";
import { timeLimitMs } from "../functions/shared/settings.ts";
import { recordingEngine } from "../testing/history/recording-engine.ts";
import type { HistoryRecorder } from "../testing/history/recorder.ts";
import type { SimulatedFunction } from "../testing/kernel/simulated-function.ts";
import type { TestCloud } from "../testing/test-cloud.ts";
import type { RestAnswer, RestCall, RestRequest } from "./workloads/workload.ts";

type WireAnswer = { readonly status: number; readonly text: string };

/** When a caller stops waiting. */
const callerPatienceMs = 29_000;
const journeyMs = { min: 1, max: 15 };

export class RestService {
  readonly #cloud: TestCloud;
  readonly #function: SimulatedFunction<RestRequest, WireAnswer>;

  constructor(
    cloud: TestCloud,
    recorder: HistoryRecorder,
    {
      mayBeSharded,
      ...engineOptions
    }: Pick<EngineOptions, "commit" | "onEvent"> & { readonly mayBeSharded: boolean },
  ) {
    this.#cloud = cloud;
    const { deployment } = cloud;
    const ignore = (): void => undefined;
    this.#function = deployment.defineFunction({
      name: "api",
      timeLimitMs: timeLimitMs("api"),
      start: (process) => {
        process.onCrash(() => {
          recorder.abandon(process.name);
        });
        const ports = deployment.portsOf(process);
        const engine = createEngine(ports, engineOptions);
        const api = createApi({
          engine: recordingEngine(engine, recorder, { process: process.name, mayBeSharded }),
          control: ports.control,
          clock: ports.clock,
          random: ports.random,
          logger: { info: ignore, error: ignore },
        });
        return async (request: RestRequest, { remainingMs }) => {
          const response = await api.fetch(toRequest(request), { remainingMs: remainingMs() });
          return { status: response.status, text: await response.text() };
        };
      },
    });
  }

  /**
   * A way to call it, for one client. Its pauses are the client's own, so that a client that is
   * stopped or dead goes on later or never. Undefined: no answer, and nobody knows.
   */
  callOf(name: string, sleep: (durationMs: number) => Promise<void>): RestCall {
    const { world } = this.#cloud;
    const random = world.random.fork(`rest calls of ${name}`);
    const where = `${name} api`;
    return async (request) => {
      await sleep(random.between(journeyMs.min, journeyMs.max));
      const lost = world.faults.strikes("request-lost", where);
      const answer = lost ? undefined : await this.#invoke(request);
      if (answer === undefined || world.faults.strikes("answer-lost", where)) {
        await sleep(random.between(journeyMs.min, callerPatienceMs));
        return undefined;
      }
      await sleep(random.between(journeyMs.min, journeyMs.max));
      return { status: answer.status, body: JSON.parse(answer.text) as RestAnswer["body"] };
    };
  }

  /** A gateway that gets no answer says so with a status; the caller learns as little from it. */
  #invoke(request: RestRequest): Promise<WireAnswer | undefined> {
    return this.#function.invoke(request).catch(() => undefined);
  }
}

function toRequest({ path, body, idempotencyKey }: RestRequest): Request {
  return new Request(`https://api.invalid${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    },
    body: JSON.stringify(body),
  });
}
