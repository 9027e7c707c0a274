/**
 * Where a benchmark plays: a store, a deployment on it, and the tables of every contestant. Three
 * kinds: the embedded stack on dynalite; the same stack with AWS's own emulator as DynamoDB, which
 * alone knows TransactWriteItems; and a deployment that exists already, whose functions are not
 * ours to meter.
 */
import { bundleScripts, stackEntries, stackScripts } from "../../localstack/stack-bundle.ts";
import { startDynamoDbLocal, type DynamoDbLocal } from "../../localstack/dynamodb-local.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { stackFunctions } from "../../localstack/stack-functions.ts";
import type { Cost } from "../cost.ts";
import { startMeterHub, type MeterHub } from "../metering/meter-hub.ts";
import type { BenchStore } from "../options.ts";
import type { BenchTarget } from "./contestant.ts";

export type Place =
  | { readonly kind: "local"; readonly store: BenchStore }
  | { readonly kind: "deployment"; readonly target: BenchTarget };

export type Stage = {
  readonly target: BenchTarget;
  /** Names and ids of the processes that work beside the clients. */
  readonly processes: Readonly<Record<string, number>>;
  /** Not every stand-in does. */
  readonly knowsTransactWriteItems: boolean;
  /** The client processes' program. */
  readonly clientScript: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Undefined where the functions are out of reach. */
  readonly functions: FunctionsMeter | undefined;
  stop(): Promise<void>;
};

export type FunctionsMeter = {
  count(on: boolean): void;
  /** By role, since the stage stands. */
  read(): Promise<ReadonlyMap<string, Cost>>;
};

const clientProgram = "client";
/** Those that take part in a transaction; REST and the removal of tombstones do not. */
const meteredRoles = ["oracle", "replay"];

export async function setStage(place: Place, say: (line: string) => void): Promise<Stage> {
  const functions = stackFunctions
    .filter(({ name }) => meteredRoles.includes(name))
    .map((one) => ({ ...one, handlerFile: `bench/metering/${one.name}-handler.ts` }));
  const handlers = new Map(functions.map(({ name, handlerFile }) => [name, handlerFile]));
  const scripts = await bundleScripts(
    new Map([...stackEntries(handlers), [clientProgram, "bench/harness/client-process.ts"]]),
  );
  const clientScript = scripts.get(clientProgram) ?? "";
  if (place.kind === "deployment") {
    return {
      target: place.target,
      processes: {},
      knowsTransactWriteItems: true,
      clientScript,
      environment: process.env,
      functions: undefined,
      stop: () => Promise.resolve(),
    };
  }
  const parts: Parts = { hub: await startMeterHub(), store: undefined, stack: undefined };
  try {
    Object.assign(process.env, parts.hub.environment);
    if (place.store === "dynamodb-local") parts.store = await startDynamoDbLocal(say);
    parts.stack = await startEmbeddedStack({
      sampleTables: false,
      functions,
      scripts: stackScripts(scripts),
      dynamodbAt:
        parts.store === undefined ? undefined : Number(new URL(parts.store.endpoint).port),
    });
    await parts.hub.connected(functions.length);
    return stageOf(parts.stack, parts, clientScript);
  } catch (error) {
    await strike(parts);
    throw error;
  }
}

type Parts = {
  readonly hub: MeterHub;
  store: DynamoDbLocal | undefined;
  stack: EmbeddedStack | undefined;
};

function stageOf(stack: EmbeddedStack, parts: Parts, clientScript: string): Stage {
  const { deployment, region, endpoints } = stack;
  return {
    target: { deployment, region, endpoints },
    get processes() {
      return stack.processes;
    },
    knowsTransactWriteItems: parts.store !== undefined,
    clientScript,
    environment: {
      ...process.env,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
    },
    functions: {
      count: (on) => {
        parts.hub.count(on);
      },
      read: () => parts.hub.read(),
    },
    stop: () => strike(parts),
  };
}

async function strike({ hub, store, stack }: Parts): Promise<void> {
  await stack?.stop();
  await store?.stop();
  await hub.stop();
}
