/**
 * A whole simulated world: time, randomness, faults, the two services, and the processes in it.
 * Everything follows from the seed and from what is done to it.
 */
import * as dynamoDbSdk from "@aws-sdk/client-dynamodb";
import * as kinesisSdk from "@aws-sdk/client-kinesis";
import type { DynamoDbHandle, KinesisHandle } from "../../aws/clients.ts";
import * as limits from "../../core/limits.ts";
import { DynamoDbModel } from "../cloud/dynamodb/model.ts";
import { KinesisModel } from "../cloud/kinesis/model.ts";
import { createSimulatedClients, type AwsWorld } from "./aws-clients.ts";
import { Faults, type FaultPlan } from "./faults.ts";
import { SeededRandom } from "./seeded-random.ts";
import { latencyDefault, ServiceLink, type Latency } from "./service-link.ts";
import { ServiceTrouble } from "./service-trouble.ts";
import { exactClock, SimulatedProcess, type ClockError } from "./simulated-process.ts";
import { Trace } from "./trace.ts";
import { VirtualTime } from "./virtual-time.ts";
import { Weather } from "./weather.ts";

export type WorldOptions = {
  readonly seed: number | string;
  readonly faults: FaultPlan;
  /** Only so many faults strike. */
  readonly strikesMax?: number | undefined;
  readonly latency?: Latency | undefined;
  readonly keepTrace: boolean;
};

export type Handles = { readonly dynamodb: DynamoDbHandle; readonly kinesis: KinesisHandle };

/** 1 January 2026, 00:00 UTC. */
const originMs = 1_767_225_600_000;
/** A clock that gains or loses more than a second in a thousand is broken. */
const driftMax = 0.001;
const runMsMax = 3 * 3600_000;
/** How far the stream's arrival times may step back. */
const arrivalBackMsMax = 2_000;
/** How far they may run ahead: below what the protocol allows AWS's clocks. */
const arrivalAheadMsMax = 30_000;

export class World {
  readonly startMs = originMs;
  readonly time = new VirtualTime(originMs);
  readonly trace: Trace;
  readonly random: SeededRandom;
  readonly faults: Faults;
  readonly weather: Weather;
  readonly trouble = new ServiceTrouble(this.time);
  readonly dynamodb: DynamoDbModel;
  readonly kinesis: KinesisModel;
  readonly link: ServiceLink;
  /** A way to the services on which nothing goes wrong, for tests and judges. */
  readonly calmLink: ServiceLink;
  readonly #streamListeners: (() => void)[] = [];

  constructor(options: WorldOptions) {
    const { time } = this;
    this.trace = new Trace({ keepLines: options.keepTrace });
    this.random = new SeededRandom(options.seed.toString());
    this.faults = new Faults({
      plan: options.faults,
      random: this.random.fork("faults"),
      strikesMax: options.strikesMax,
      onStrike: (name, where) => {
        this.trace.note(time.nowMs, `FAULT ${name} at ${where}`);
      },
    });
    const calm = new Faults({ plan: {}, random: this.random, onStrike: () => undefined });
    this.weather = new Weather({ time, faults: this.faults, trace: this.trace });
    this.dynamodb = new DynamoDbModel({ nowMs: () => Math.floor(time.nowMs) });
    this.kinesis = new KinesisModel({
      nowMs: () => Math.floor(time.nowMs),
      arrivalMs: () => this.#arrivalMs(),
    });
    const parts = {
      time,
      trace: this.trace,
      latency: options.latency ?? latencyDefault,
      callTimeoutMs: limits.callTimeoutMsDefault,
    };
    this.link = new ServiceLink({
      ...parts,
      faults: this.faults,
      weather: this.weather,
      trouble: this.trouble,
    });
    this.calmLink = new ServiceLink({
      ...parts,
      faults: calm,
      weather: new Weather({ time, faults: calm, trace: this.trace }),
      answersGaps: true,
    });
  }

  /**
   * A process that is running now. Its clock is wrong as said, or else if that fault strikes it.
   */
  startProcess(
    name: string,
    options: {
      readonly exact?: boolean;
      readonly clockError?: ClockError;
      /** One of AWS's machines, whose clocks are better. Default false. */
      readonly isAws?: boolean;
    } = {},
  ): SimulatedProcess {
    const clockError =
      options.exact === true ? exactClock : (options.clockError ?? this.#clockError(name, options));
    const random = this.random.fork(`process ${name}`);
    const { isAws = false } = options;
    return new SimulatedProcess({ name, time: this.time, random, clockError, isAws });
  }

  /**
   * @param options.calm on a way on which nothing goes wrong.
   * @param options.callTries of each call, by the AWS SDK itself. Default: as clients have it.
   */
  handles(
    process: SimulatedProcess,
    options: { readonly calm: boolean; readonly callTries?: number },
  ): Handles {
    const { calm, callTries = limits.callTriesDefault } = options;
    const world: AwsWorld = {
      time: this.time,
      dynamodb: this.dynamodb,
      kinesis: this.kinesis,
      faults: calm ? this.#noFaults() : this.faults,
      random: this.random,
      link: calm ? this.calmLink : this.link,
      streamWritten: () => {
        this.streamWritten();
      },
    };
    const clients = createSimulatedClients(world, process, callTries);
    return {
      dynamodb: { sdk: dynamoDbSdk, client: clients.dynamodb },
      kinesis: { sdk: kinesisSdk, client: clients.kinesis },
    };
  }

  /** Called whenever records have been put into a stream. */
  onStreamWrite(listener: () => void): void {
    this.#streamListeners.push(listener);
  }

  streamWritten(): void {
    for (const listener of this.#streamListeners) listener();
  }

  /** Ends all faults, the lasting ones too, and wakes what is frozen by them. */
  calm(): void {
    this.faults.calm();
    this.weather.clear();
    this.trouble.clear();
  }

  #noFaults(): Faults {
    return new Faults({ plan: {}, random: this.random, onStrike: () => undefined });
  }

  #clockError(name: string, { isAws = false }: { readonly isAws?: boolean }): ClockError {
    if (!this.faults.strikes("clock-skew", name)) return exactClock;
    const random = this.faults.of("clock-skew");
    const worstMs = isAws ? limits.awsClockErrorMsMax : limits.clientClockErrorMsMax;
    // Drift comes on top, for as long as a run lasts.
    const errorMsMax = worstMs - driftMax * runMsMax;
    return {
      offsetMs: random.between(-errorMsMax, errorMsMax),
      drift: random.between(-driftMax, driftMax),
    };
  }

  #arrivalMs(): number {
    const now = Math.floor(this.time.nowMs);
    if (this.faults.strikes("arrival-ahead", "stream")) {
      return now + this.faults.of("arrival-ahead").integer(1, arrivalAheadMsMax);
    }
    if (!this.faults.strikes("arrival-backwards", "stream")) return now;
    return now - this.faults.of("arrival-backwards").integer(1, arrivalBackMsMax);
  }
}
