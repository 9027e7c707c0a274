/**
 * Operators who take the stream away and bring it back while clients are at work, as Terraform and
 * `provision` do it (docs/operations.md, Taking the stream away). The stream itself and its
 * functions come and go at once: they are the cloud's.
 */
import { addShardsOfTables, leaveStream, useStream } from "../aws/stream-wish.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { SeededRandom } from "../testing/kernel/seeded-random.ts";
import type { TestCloud } from "../testing/test-cloud.ts";
import { Operators, type OperatorStep } from "./operators.ts";

/** Before a closing, and for how long there is no stream. */
const restMs = { min: 300, max: 15_000 };
/** `provision` waits for so long until the stream is drained; then it is called again. */
const drainMs = { min: 1, max: 120_000 };
/** Of closings: the same stream is opened again, drained or not. */
const reopenedShare = 0.4;
/** Of runs that end with a closing: nobody opens a stream after it. */
const endsWithoutShare = 0.5;

/** @param closings how often the stream is closed; where there is none, one comes first. */
export function streamOperators(cloud: TestCloud, closings: number): Operators {
  const random = cloud.world.random.fork("stream operators");
  const steps = closings === 0 ? [] : new StreamSteps(cloud, random).planned(closings);
  return new Operators(cloud, { name: "stream operator", random, steps, isNotYet });
}

class StreamSteps {
  readonly #cloud: TestCloud;
  readonly #random: SeededRandom;

  constructor(cloud: TestCloud, random: SeededRandom) {
    this.#cloud = cloud;
    this.#random = random;
  }

  planned(closings: number): readonly OperatorStep[] {
    const random = this.#random;
    const steps: OperatorStep[] = this.#cloud.deployment.hasStream ? [] : this.#bringing();
    for (let n = 1; n <= closings; n += 1) {
      steps.push(this.#resting(restMs));
      if (random.chance(reopenedShare)) steps.push(this.#closing(), this.#opening());
      else {
        steps.push(...this.#takingAway());
        if (n < closings || !random.chance(endsWithoutShare)) {
          steps.push(this.#resting(restMs), ...this.#bringing());
        }
      }
    }
    return steps;
  }

  #resting({ min, max }: typeof restMs): OperatorStep {
    const durationMs = this.#random.logarithmic(min, max);
    return { name: "rest", act: ({ clock }) => clock.sleep(durationMs) };
  }

  /** By its end the stream is closed, and perhaps not drained. */
  #closing(): OperatorStep {
    const act: OperatorStep["act"] = async (operator) => {
      const { deployment } = this.#cloud;
      await leaveStream(deployment.portsOf(operator), 0).catch((error: unknown) => {
        if (!isNotYet(error)) throw error;
      });
    };
    return { name: "close", act, byTwo: true };
  }

  #opening(): OperatorStep {
    const act: OperatorStep["act"] = async (operator) => {
      const { deployment, world } = this.#cloud;
      const { kinesis } = world.handles(operator, { calm: false });
      await useStream(deployment.portsOf(operator), { kinesis, stream: deployment.stream });
    };
    return { name: "open", act };
  }

  #takingAway(): readonly OperatorStep[] {
    const { deployment } = this.#cloud;
    const waitMs = this.#random.logarithmic(drainMs.min, drainMs.max);
    return [
      {
        name: "close and drain",
        act: (operator) => leaveStream(deployment.portsOf(operator), waitMs),
        byTwo: true,
      },
      atOnce("take the functions away", () => {
        deployment.detachFunctions();
      }),
      atOnce("take the stream away", () => {
        deployment.deleteStream();
      }),
      {
        name: "look that it is not in use",
        act: (operator) => addShardsOfTables(deployment.portsOf(operator), undefined),
      },
    ];
  }

  /** Clients use it from when it is opened, whether its functions are there already or not. */
  #bringing(): OperatorStep[] {
    const { deployment } = this.#cloud;
    const make = atOnce("make a stream", () => {
      deployment.makeStream();
    });
    const attach = atOnce("deploy the functions", () => {
      deployment.attachFunctions();
    });
    const open = this.#opening();
    return this.#random.chance(0.5) ? [make, attach, open] : [make, open, attach];
  }
}

function atOnce(name: string, act: () => void): OperatorStep {
  return {
    name,
    act: () => {
      act();
      return Promise.resolve();
    },
  };
}

/** The stream is in use still, or not drained yet. */
function isNotYet(error: unknown): boolean {
  return error instanceof InvalidRequestError && error.field === "stream";
}
