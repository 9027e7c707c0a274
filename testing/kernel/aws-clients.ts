/**
 * What a simulated process uses in place of AWS SDK clients: `send` with the commands of AWS SDK
 * v3, repeated on faults as the SDK's standard mode does it, with the middleware that commands
 * bring along run inside each try, where the signer stands. Everything above, the project's own
 * adapters included, is the real thing.
 */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { KinesisClient } from "@aws-sdk/client-kinesis";
import type { DynamoDbModel } from "../cloud/dynamodb/model.ts";
import type { KinesisModel } from "../cloud/kinesis/model.ts";
import { ServiceError } from "../../expressions/service-error.ts";
import {
  ClientStack,
  requestOf,
  type Handler,
  type Middleware,
  type Place,
} from "./client-stack.ts";
import type { Faults } from "./faults.ts";
import { plainCopy } from "./plain-copy.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { ServiceCall, ServiceLink, ServiceName } from "./service-link.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

export type AwsWorld = {
  readonly time: VirtualTime;
  readonly dynamodb: DynamoDbModel;
  readonly kinesis: KinesisModel;
  readonly faults: Faults;
  /** For what is drawn at the services: where a batch is cut, how stale a read is. */
  readonly random: SeededRandom;
  readonly link: ServiceLink;
  readonly streamWritten: () => void;
};

export type SimulatedClients = {
  readonly dynamodb: DynamoDBClient;
  readonly kinesis: KinesisClient;
};

/** A command as it comes from the SDK's packages. */
type SentCommand = {
  readonly input: Readonly<Record<string, unknown>>;
  readonly middlewareStack: {
    clone(): {
      add(middleware: Middleware, place: Place): void;
      resolve(handler: Handler, context: object): Handler;
    };
  };
};

export function createSimulatedClients(
  world: AwsWorld,
  process: SimulatedProcess,
  callTriesMax: number,
): SimulatedClients {
  const client = (
    service: ServiceName,
    perform: (operation: string, input: object, where: string) => unknown,
  ): unknown => {
    const middlewareStack = new ClientStack();
    return {
      middlewareStack,
      send: (
        command: SentCommand,
        { abortSignal: signal }: { readonly abortSignal?: AbortSignal } = {},
      ) => {
        const callWith = (input: object): ServiceCall =>
          callOf({ service, operation: operationOf(command), input, process, perform });
        const sending = { world, process, callTriesMax, command, signal, callWith };
        return middlewareStack.isPlugged
          ? sendPlugged(sending, middlewareStack)
          : sendRepeatedly({ ...sending, input: command.input, stack: middlewareStack });
      },
      destroy: () => undefined,
    };
  };
  const dynamodb = client("dynamodb", (operation, input, where) =>
    performDynamoDb(world, { operation, input, where }),
  );
  const kinesis = client("kinesis", (operation, input, where) =>
    performKinesis(world, { operation, input, where }),
  );
  return { dynamodb: dynamodb as DynamoDBClient, kinesis: kinesis as KinesisClient };
}

function operationOf(command: SentCommand): string {
  return command.constructor.name.replace(/Command$/, "");
}

function callOf(parts: {
  readonly service: ServiceName;
  readonly operation: string;
  readonly input: object;
  readonly process: SimulatedProcess;
  readonly perform: (operation: string, input: object, where: string) => unknown;
}): ServiceCall {
  const { service, operation, process, perform } = parts;
  const input = plainCopy(parts.input) as Readonly<Record<string, unknown>>;
  const named = input["TableName"] ?? input["StreamName"];
  const target = typeof named === "string" ? named : "";
  const item = input["Item"] as Readonly<Record<string, { readonly S?: string }>> | undefined;
  const where = `${process.name} ${operation} ${target}`;
  return {
    service,
    operation,
    target,
    partition: item?.["shard"]?.S,
    perform: () => plainCopyOf(perform(operation, input, where)),
  };
}

function plainCopyOf(output: unknown): unknown {
  return output instanceof Promise ? output.then(plainCopy) : plainCopy(output);
}

type Sending = {
  readonly world: AwsWorld;
  readonly process: SimulatedProcess;
  readonly callTriesMax: number;
  readonly command: SentCommand;
  readonly callWith: (input: object) => ServiceCall;
  readonly signal: AbortSignal | undefined;
};

const retryMsBase = 100;
const throttledRetryMsBase = 500;
const retryMsMax = 20_000;

/** What a plugin has put around a command is done once; what it has put into its tries, in each. */
async function sendPlugged(sending: Sending, stack: ClientStack): Promise<unknown> {
  const { name: commandName } = sending.command.constructor;
  // The model answers as DynamoDB itself does.
  const context = { commandName, endpointV2: { url: { hostname: "simulated.amazonaws.com" } } };
  const send = async ({ input }: { readonly input?: object }): Promise<object> => {
    const output = await sendRepeatedly({ ...sending, input: input ?? {}, stack, context });
    return { output };
  };
  const { output } = (await stack.around(send, context)({ input: sending.command.input })) as {
    readonly output: unknown;
  };
  return output;
}

async function sendRepeatedly(
  sending: Sending & {
    readonly input: object;
    readonly stack: ClientStack;
    /** Of a command that a plugin has seen. */
    readonly context?: object;
  },
): Promise<unknown> {
  const { world, process, command, signal, context, input } = sending;
  const { steps } = sending.stack;
  const stack = command.middlewareStack.clone();
  stack.add((next) => next, { name: "httpSigningMiddleware", step: "finalizeRequest" });
  for (const { middleware, place } of steps) stack.add(middleware, place);
  const call = sending.callWith(input);
  const served = async (own: ServiceCall): Promise<object> => {
    let servedMs = world.time.nowMs;
    const perform = (): unknown => {
      servedMs = world.time.nowMs;
      return own.perform();
    };
    const output = await world.link.try(process, { ...own, perform }, signal);
    const date = steps.length === 0 ? "" : new Date(servedMs).toUTCString();
    return { output: output as object, response: { headers: { date } } };
  };
  const plugged = context && sending.stack.eachTry((own) => served(sending.callWith(own)), context);
  const oneTry = stack.resolve(
    plugged === undefined ? () => served(call) : () => plugged(requestOf(input)),
    {},
  );
  for (let tries = 1; ; tries += 1) {
    try {
      const { output } = (await oneTry({ input })) as { output: unknown };
      return output;
    } catch (error) {
      const base = retryBaseMs(error);
      if (base === undefined || tries >= sending.callTriesMax) throw error;
      const capMs = Math.min(retryMsMax, base * 2 ** (tries - 1));
      await process.clock.sleep(process.random.next() * capMs, signal);
    }
  }
}

/** Undefined for an error that the SDK does not try again. */
function retryBaseMs(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === "ProvisionedThroughputExceededException") return throttledRetryMsBase;
  if (error.name === "TimeoutError" || "code" in error) return retryMsBase;
  const status = error instanceof ServiceError ? error.$metadata.httpStatusCode : undefined;
  return status !== undefined && status >= 500 ? retryMsBase : undefined;
}

type Performance = { readonly operation: string; readonly input: object; readonly where: string };

/** How far back an eventually consistent read may see. */
const staleMsMax = 2_000;
const tornRowsMax = 3;
const tornPauseMsMax = 40;

function performDynamoDb(world: AwsWorld, { operation, input, where }: Performance): unknown {
  const { faults, dynamodb, time } = world;
  const pages = operation === "Query" || operation === "Scan" || operation === "BatchGetItem";
  const batch = operation === "BatchGetItem" || operation === "BatchWriteItem";
  const reads = pages || operation === "GetItem";
  const conditions = {
    ...(reads && faults.strikes("stale-read", where)
      ? { staleMs: faults.of("stale-read").between(1, staleMsMax) }
      : {}),
    ...(batch && faults.strikes("part-unprocessed", where)
      ? { batchPart: faults.of("part-unprocessed").next() }
      : {}),
  };
  if (!pages || !faults.strikes("torn-page", where)) {
    return dynamodb.execute(operation as never, input as never, conditions);
  }
  const random = faults.of("torn-page");
  const read = dynamodb.startRead(operation as never, input as never, conditions);
  const goOn = async (): Promise<unknown> => {
    while (read.step(random.integer(1, tornRowsMax))) {
      await time.sleep(random.between(0.1, tornPauseMsMax));
    }
    return read.result();
  };
  return goOn();
}

function performKinesis(world: AwsWorld, { operation, input, where }: Performance): unknown {
  const { faults, kinesis } = world;
  if (operation === "GetRecords") {
    if (faults.strikes("iterator-expired", where)) {
      throw new ServiceError("ExpiredIteratorException", {
        message: "Iterator expired. The iterator was created more than 5 minutes ago",
        status: 400,
      });
    }
    if (faults.strikes("empty-page", where)) return emptyPage(input, faults.of("empty-page"));
  }
  const puts = operation === "PutRecords";
  const failing = puts && faults.strikes("put-records-in-part", where);
  const random = faults.of("put-records-in-part");
  const conditions = failing
    ? {
        failEntries: () => {
          if (random.chance(0.5)) return undefined;
          return random.chance(0.5)
            ? ("ProvisionedThroughputExceededException" as const)
            : ("InternalFailure" as const);
        },
      }
    : {};
  const output: unknown = kinesis.execute(operation as never, input as never, conditions);
  // A producer's retry below the SDK: stored under a second sequence number, answered once. Never
  // of an entry that was refused: "throttled" says that it is not there.
  if (puts && !failing && faults.strikes("record-duplicated", where)) {
    kinesis.execute(operation as never, input as never, {});
  }
  if (puts) world.streamWritten();
  return output;
}

/** Kinesis steps through its storage: no records in this page, and the place stays the same. */
/** It may even say that nothing is behind it. */
function emptyPage(input: object, random: SeededRandom): object {
  const iterator = (input as { readonly ShardIterator?: string }).ShardIterator;
  const MillisBehindLatest = random.chance(0.5) ? 0 : 1_000;
  return { Records: [], NextShardIterator: iterator, MillisBehindLatest };
}
