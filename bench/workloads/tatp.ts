/**
 * TATP, the telecom benchmark: a mobile carrier's register of subscribers, after "Telecommunication
 * Application Transaction Processing (TATP) Benchmark Description", version 1.0 (Solid, 2009).
 * Centiman measures with it how many read-only transactions need no validation.
 *
 * Kept: four tables, seven transactions in the standard mix (80 % read), non-uniform choice of
 * subscribers, and the transactions that are expected to fail (nothing found, already there, refers
 * to nothing): they are rolled back. Of the rows' proportions all are kept; the number of
 * subscribers is a parameter: 100,000 there at least, 2,000 here by default, so that the tables
 * load in seconds. Fewer subscribers mean more conflicts.
 *
 * Left out: the result database, and ramp-up, which is the driver's. A fifth table stands for the
 * unique index on the subscriber's number. Of the document the mix, the population and the skew are
 * as other public implementations state them; the expected failures follow from the population
 * (`tatpExpectedSuccess`).
 */
import {
  RolledBack,
  type BenchItem,
  type BenchRandom,
  type BenchTable,
  type BenchTransaction,
  type Operation,
  type Workload,
} from "../harness/workload.ts";
import {
  between,
  namedRandom,
  nonUniform,
  percent,
  shuffled,
  someDigits,
  someText,
  weighted,
} from "./draws.ts";
import { getRow, inTurns, putRow, queryRows, standingRow, type TypedTable } from "./typed-rows.ts";

type Subscriber = {
  readonly subscriber: number;
  readonly number: string;
  /** BIT_1 … BIT_10, HEX_1 … HEX_10 and BYTE2_1 … BYTE2_10. */
  readonly bits: readonly number[];
  readonly hexes: readonly number[];
  readonly bytes: readonly number[];
  readonly mscLocation: number;
  readonly vlrLocation: number;
};
type SubscriberNumber = { readonly number: string; readonly subscriber: number };
type AccessInfo = {
  readonly subscriber: number;
  readonly type: number;
  readonly data1: number;
  readonly data2: number;
  readonly data3: string;
  readonly data4: string;
};
type SpecialFacility = {
  readonly subscriber: number;
  readonly type: number;
  readonly active: boolean;
  readonly errorControl: number;
  readonly dataA: number;
  readonly dataB: string;
};
type CallForwarding = {
  readonly subscriber: number;
  /** Facility type and start time in one, so that one range holds a facility's: see `slotOf`. */
  readonly slot: number;
  readonly endTime: number;
  readonly forwardedTo: string;
};

const bySubscriber = { name: "subscriber", type: "N" } as const;
const byType = { name: "type", type: "N" } as const;
export const subscribers: TypedTable<Subscriber> = {
  name: "tatp-subscribers",
  partitionKey: bySubscriber,
};
export const subscriberNumbers: TypedTable<SubscriberNumber> = {
  name: "tatp-subscriber-numbers",
  partitionKey: { name: "number", type: "S" },
};
export const accessInfos: TypedTable<AccessInfo> = {
  name: "tatp-access-infos",
  partitionKey: bySubscriber,
  sortKey: byType,
};
export const facilities: TypedTable<SpecialFacility> = {
  name: "tatp-special-facilities",
  partitionKey: bySubscriber,
  sortKey: byType,
};
export const forwardings: TypedTable<CallForwarding> = {
  name: "tatp-call-forwardings",
  partitionKey: bySubscriber,
  sortKey: { name: "slot", type: "N" },
};

type Kind = keyof typeof tatpMix;

/** In percent. */
export const tatpMix = {
  "get-subscriber-data": 35,
  "get-new-destination": 10,
  "get-access-data": 35,
  "update-subscriber-data": 2,
  "update-location": 14,
  "insert-call-forwarding": 2,
  "delete-call-forwarding": 2,
};

/** Share of each kind that finds what it asks for, in a database as loaded (in percent). */
export const tatpExpectedSuccess: Readonly<Record<Kind, number>> = {
  "get-subscriber-data": 100,
  "get-new-destination": 23.9,
  "get-access-data": 62.5,
  "update-subscriber-data": 62.5,
  "update-location": 100,
  "insert-call-forwarding": 31.25,
  "delete-call-forwarding": 31.25,
};

export type TatpScale = { readonly subscribers: number };

export const tatpSmallScale: TatpScale = { subscribers: 2_000 };
export const tatpFullScale: TatpScale = { subscribers: 100_000 };

/** @throws RangeError without subscribers. */
export function tatp(scale: TatpScale = tatpSmallScale): Workload {
  const count = scale.subscribers;
  if (!Number.isInteger(count) || count < 1) {
    throw new RangeError(`subscribers must be a whole number from 1, is ${count}`);
  }
  return {
    name: "tatp",
    description:
      `TATP 1.0: seven transactions, 80 % read, ${count} subscribers chosen non-uniformly; ` +
      "what finds nothing, or finds what it would insert, is rolled back.",
    tables: [subscribers, subscriberNumbers, accessInfos, facilities, forwardings],
    rows: () => tatpRows(count),
    next: (random) => nextTransaction(random, count),
    violations: (read) => tatpViolations(read, count),
  };
}

const startTimes = [0, 8, 16];

function slotOf(type: number, startTime: number): number {
  return type * 100 + startTime;
}

/** Up to 15 digits, as the specification pads it. */
function numberOf(subscriber: number): string {
  return subscriber.toString().padStart(15, "0");
}

function* tatpRows(count: number): Generator<{ table: BenchTable; item: BenchItem }> {
  const random = namedRandom("tatp");
  const ten = (high: number): number[] =>
    Array.from({ length: 10 }, () => between(random, 0, high));
  for (let subscriber = 1; subscriber <= count; subscriber += 1) {
    const row: Subscriber = {
      ...{ subscriber, number: numberOf(subscriber) },
      ...{ bits: ten(1), hexes: ten(15), bytes: ten(255) },
      ...{ mscLocation: someLocation(random), vlrLocation: someLocation(random) },
    };
    yield { table: subscribers, item: row };
    const entry: SubscriberNumber = { number: row.number, subscriber };
    yield { table: subscriberNumbers, item: entry };
    for (const type of someOf(random, [1, 2, 3, 4], 1)) {
      const info: AccessInfo = {
        ...{ subscriber, type },
        ...{ data1: between(random, 0, 255), data2: between(random, 0, 255) },
        ...{ data3: someText(random, 3), data4: someText(random, 5) },
      };
      yield { table: accessInfos, item: info };
    }
    yield* facilityRows(random, subscriber);
  }
}

function* facilityRows(
  random: BenchRandom,
  subscriber: number,
): Generator<{ table: BenchTable; item: BenchItem }> {
  for (const type of someOf(random, [1, 2, 3, 4], 1)) {
    const facility: SpecialFacility = {
      ...{ subscriber, type, active: percent(random, 85) },
      ...{ errorControl: between(random, 0, 255), dataA: between(random, 0, 255) },
      dataB: someText(random, 5),
    };
    yield { table: facilities, item: facility };
    for (const startTime of someOf(random, startTimes, 0)) {
      const forwarding: CallForwarding = {
        ...{ subscriber, slot: slotOf(type, startTime) },
        endTime: startTime + between(random, 1, 8),
        forwardedTo: someDigits(random, 15),
      };
      yield { table: forwardings, item: forwarding };
    }
  }
}

/** At least so many of them; each number of them is equally likely. */
function someOf(random: BenchRandom, from: readonly number[], atLeast: number): readonly number[] {
  return shuffled(random, from).slice(0, between(random, atLeast, from.length));
}

function someLocation(random: BenchRandom): number {
  return between(random, 0, 2 ** 31 - 1);
}

function someSubscriber(random: BenchRandom, count: number): number {
  const mask = count <= 1_000_000 ? 65_535 : count <= 10_000_000 ? 1_048_575 : 2_097_151;
  return nonUniform(random, { low: 1, high: count, mask });
}

/** Everything is drawn here, so that a body that runs again does the same. */
type Input = {
  readonly subscriber: number;
  readonly type: number;
  readonly startTime: number;
  readonly endTime: number;
  readonly bit: number;
  readonly data: number;
  readonly location: number;
  readonly forwardedTo: string;
};

function nextTransaction(random: BenchRandom, count: number): Operation {
  const name = weighted(random, tatpMix);
  const input: Input = {
    subscriber: someSubscriber(random, count),
    type: between(random, 1, 4),
    startTime: random.below(3) * 8,
    endTime: between(random, 1, 24),
    bit: between(random, 0, 1),
    data: between(random, 0, 255),
    location: someLocation(random),
    forwardedTo: someDigits(random, 15),
  };
  const body = bodies[name];
  return {
    name,
    readOnly: name.startsWith("get-"),
    body: (transaction) => body(transaction, input),
  };
}

const bodies: Readonly<
  Record<Kind, (transaction: BenchTransaction, input: Input) => Promise<void>>
> = {
  async "get-subscriber-data"(transaction, { subscriber }) {
    await standingRow(transaction, subscribers, { subscriber });
  },

  async "get-new-destination"(transaction, { subscriber, type, startTime, endTime }) {
    const facility = await getRow(transaction, facilities, { subscriber, type });
    if (facility?.active !== true) throw new RolledBack("no active facility of this type");
    const found = await queryRows(transaction, forwardings, {
      partition: subscriber,
      from: slotOf(type, 0),
      to: slotOf(type, startTime),
    });
    if (!found.some((row) => endTime < row.endTime)) throw new RolledBack("no destination");
  },

  async "get-access-data"(transaction, { subscriber, type }) {
    const info = await getRow(transaction, accessInfos, { subscriber, type });
    if (info === undefined) throw new RolledBack("no access data of this type");
  },

  async "update-subscriber-data"(transaction, { subscriber, type, bit, data }) {
    const [row, facility] = await Promise.all([
      standingRow(transaction, subscribers, { subscriber }),
      getRow(transaction, facilities, { subscriber, type }),
    ]);
    if (facility === undefined) throw new RolledBack("no facility of this type");
    putRow(transaction, subscribers, { ...row, bits: [bit, ...row.bits.slice(1)] });
    putRow(transaction, facilities, { ...facility, dataA: data });
  },

  async "update-location"(transaction, input) {
    const { subscriber } = await byNumber(transaction, input);
    const row = await standingRow(transaction, subscribers, { subscriber });
    putRow(transaction, subscribers, { ...row, vlrLocation: input.location });
  },

  async "insert-call-forwarding"(transaction, input) {
    const { subscriber } = await byNumber(transaction, input);
    const slot = slotOf(input.type, input.startTime);
    const [offered, taken] = await Promise.all([
      queryRows(transaction, facilities, { partition: subscriber }),
      getRow(transaction, forwardings, { subscriber, slot }),
    ]);
    if (!offered.some(({ type }) => type === input.type)) {
      throw new RolledBack("no facility of this type");
    }
    if (taken !== undefined) throw new RolledBack("calls are forwarded already");
    const { endTime, forwardedTo } = input;
    putRow(transaction, forwardings, { subscriber, slot, endTime, forwardedTo });
  },

  async "delete-call-forwarding"(transaction, input) {
    const { subscriber } = await byNumber(transaction, input);
    const key = { subscriber, slot: slotOf(input.type, input.startTime) };
    const found = await getRow(transaction, forwardings, key);
    if (found === undefined) throw new RolledBack("calls are not forwarded");
    transaction.delete(forwardings, key);
  },
};

function byNumber(transaction: BenchTransaction, { subscriber }: Input): Promise<SubscriberNumber> {
  return standingRow(transaction, subscriberNumbers, { number: numberOf(subscriber) });
}

/**
 * The specification states none; these are its keys: unique numbers, and no forwarding without a
 * facility.
 */
async function tatpViolations(read: BenchTransaction, count: number): Promise<readonly string[]> {
  const all = Array.from({ length: count }, (_, index) => index + 1);
  const found = await inTurns(all, async (subscriber): Promise<readonly string[]> => {
    const [row, entry, offered, forwarded] = await Promise.all([
      getRow(read, subscribers, { subscriber }),
      getRow(read, subscriberNumbers, { number: numberOf(subscriber) }),
      queryRows(read, facilities, { partition: subscriber }),
      queryRows(read, forwardings, { partition: subscriber }),
    ]);
    const types = new Set(offered.map(({ type }) => type));
    const loose = forwarded.filter(({ slot }) => !types.has(Math.floor(slot / 100)));
    return [
      ...(row === undefined ? [`Subscriber ${subscriber} is missing.`] : []),
      ...(entry?.subscriber === subscriber
        ? []
        : [`The number of subscriber ${subscriber} does not lead to it.`]),
      ...loose.map(
        ({ slot }) => `Subscriber ${subscriber} forwards calls at ${slot} without a facility.`,
      ),
    ];
  });
  return found.flat();
}
