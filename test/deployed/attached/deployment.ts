/**
 * Stands in for test/harness/local-deployment.ts when the integration suites run against a
 * deployment: the same client processes on the same ports, but stream, tables and functions are the
 * deployment's own.
 */
import { randomBytes } from "node:crypto";
import { createAwsPorts, type AwsPorts, type AwsPortsOptions } from "../../../aws/ports.ts";
import { assert } from "../../../core/assert.ts";
import { createEngine } from "../../../engine/engine.ts";
import type { Engine } from "../../../engine/types.ts";
import { recorded, startHistoryExport } from "../../harness/history-export.ts";
import type * as local from "../../harness/local-deployment.ts";
import type { LocalStores } from "../../harness/local-stores.ts";
import { needsControl } from "./control.ts";
import { clientOptionsOf, localTarget, makeTable, removeTables } from "./tables.ts";
import { KeyHashes } from "../../../schemas/key-hashes.ts";

export type * from "../../harness/local-deployment.ts";

export async function startLocalDeployment(
  options: local.LocalDeploymentOptions = {},
): Promise<local.LocalDeployment> {
  if (options.oracle !== undefined) needsControl("stands between the stream and the oracle");
  if (options.replay !== undefined) needsControl("stands between the stream and replay");
  if ((options.stopped ?? []).length > 0) needsControl("begins with a function that is stopped");
  const stores = await attachStores();
  const finishHistory = startHistoryExport(stores);
  const engines: Engine[] = [];
  return {
    stores,
    oracle: attachedFunction("the oracle"),
    replay: attachedFunction("replay"),
    openEngine({ ports = {}, ...engineOptions } = {}) {
      const own = createEngine(
        { ...stores.openPorts(), ...ports },
        { commit: "stream", ...engineOptions },
      );
      const engine = recorded(stores, own);
      engines.push(engine);
      return engine;
    },
    runReplay: () => Promise.reject(refusal(() => needsControl("runs replay itself"))),
    switchStream: () => Promise.reject(refusal(() => needsControl("takes the stream away"))),
    async stop() {
      await Promise.all(engines.map((engine) => engine.close()));
      await finishHistory();
      await stores.stop();
    },
  };
}

/** It runs, whatever a test does; so starting it again after a test is nothing to do. */
function attachedFunction(name: string): local.LocalFunction {
  return {
    start: () => Promise.resolve(),
    stop: () => Promise.reject(refusal(() => needsControl(`stops ${name}`))),
    forget: () => needsControl(`starts ${name} anew`),
    get reports() {
      return needsControl(`looks at the invocations of ${name}`);
    },
  };
}

/** What the call throws, for a rejection instead. */
function refusal(call: () => never): Error {
  try {
    return call();
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

async function attachStores(): Promise<LocalStores> {
  const target = localTarget();
  const { deployment } = target;
  const clientOptions = clientOptionsOf(target) as LocalStores["clientOptions"];
  const suffix = randomBytes(5).toString("hex");
  const opened: AwsPorts[] = [];
  const openPorts = (extra: Partial<AwsPortsOptions> = {}): AwsPorts => {
    const made = createAwsPorts({ ...clientOptions, ...extra, deployment });
    opened.push(made);
    return made;
  };
  const ports = openPorts();
  const shards = await ports.control.shards();
  const [shard] = shards;
  assert(shard !== undefined, "a deployment has a shard");
  const made: string[] = [];
  return {
    servers: {
      endpoint: clientOptions.endpoint,
      dynamoDbLocal: false,
      stop: () => Promise.resolve(),
    },
    deployment,
    shard,
    shards,
    ports,
    hashes: new KeyHashes(await ports.control.keyHasher(shard)),
    clientOptions,
    openPorts,
    async createTable(name, { partitionKey, sortKey, indexes, history = false } = {}) {
      const definition = {
        name: `${name}-${suffix}`,
        partitionKey: partitionKey ?? ({ name: "pk", type: "S" } as const),
        ...(sortKey === undefined ? {} : { sortKey }),
        ...(indexes === undefined ? {} : { indexes }),
      };
      made.push(definition.name);
      return makeTable(definition, { history });
    },
    async stop() {
      await removeTables(ports, made);
      await Promise.all(opened.map((each) => each.close()));
    },
  };
}
