/**
 * The model of DynamoDB against real servers: random sequences of calls, valid and invalid, get the
 * same answers from both. Here against dynalite, and against DynamoDB Local in the suite that
 * provides it.
 */
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DynamoDbModel } from "../../testing/cloud/dynamodb/model.ts";
import { localIdentity, startLocalServers, type LocalServers } from "../harness/local-servers.ts";
import { sweep } from "../harness/sweep.ts";
import { differentialSeeds, runsOf, Tally } from "./differential/differential-run.ts";
import { calls, fillings, type Call } from "./differential/dynamodb-calls.ts";
import {
  answerOf,
  modelService,
  realService,
  tableInput,
  withTableNames,
  type Answer,
  type Service,
} from "./differential/dynamodb-comparison.ts";
import { exclusionOf, isBeyondDynalite } from "./differential/dynamodb-exclusions.ts";
import { shapes } from "./differential/dynamodb-values.ts";

/** A run makes and removes three tables, which takes DynamoDB Local longer. */
const runsDefault = { dynalite: sweep(60, 120), dynamoDbLocal: 30 };
const callsMax = 30;

let servers: LocalServers;
let client: DynamoDB;
const tally = new Tally();

beforeAll(async () => {
  servers = await startLocalServers();
  client = new DynamoDB({ ...localIdentity, endpoint: servers.endpoint.dynamodb, maxAttempts: 1 });
});

afterAll(async () => {
  client.destroy();
  await servers.stop();
});

async function createTables(service: Service, prefix: string): Promise<void> {
  for (const shape of Object.values(shapes)) {
    await service("CreateTable", tableInput(shape, prefix + shape.name));
  }
}

/** Until what was created can be used, and on the way out nothing is left. */
async function withTables(real: Service, body: (prefix: string) => Promise<void>): Promise<void> {
  const prefix = `d${randomUUID().slice(0, 8)}-`;
  await createTables(real, prefix);
  try {
    for (const shape of Object.values(shapes)) {
      for (;;) {
        const { Table } = await real("DescribeTable", { TableName: prefix + shape.name });
        if ((Table as { TableStatus?: string }).TableStatus === "ACTIVE") break;
      }
    }
    await body(prefix);
  } finally {
    for (const shape of Object.values(shapes)) {
      await real("DeleteTable", { TableName: prefix + shape.name });
    }
  }
}

async function compareSequence(sequence: readonly Call[]): Promise<void> {
  const real = realService(client);
  const emulator = servers.dynamoDbLocal ? "DynamoDB Local" : "dynalite";
  const model = modelService(new DynamoDbModel({ nowMs: () => Date.now() }));
  await withTables(real, async (prefix) => {
    await createTables(model, prefix);
    for (const call of sequence) {
      if (!servers.dynamoDbLocal && isBeyondDynalite(call)) {
        tally.exclude("beyond dynalite");
        continue;
      }
      const input = withTableNames(call, prefix);
      const expected = await answerOf(real, call, input);
      const actual = await answerOf(model, call, input);
      if (isDeepStrictEqual(said(expected), said(actual))) {
        tally.count(expected.error);
        continue;
      }
      const exclusion = exclusionOf({ call, real: expected, model: actual, emulator });
      if (exclusion === undefined) {
        expect(said(actual), describeCall(call, expected, actual)).toEqual(said(expected));
      } else {
        tally.exclude(exclusion.name);
      }
      // One took what the other refused: their contents are no longer the same.
      if ((expected.error === undefined) !== (actual.error === undefined)) return;
    }
  });
}

function said({ error, reasons, output }: Answer): unknown {
  return { error, reasons, output };
}

function describeCall(call: Call, real: Answer, model: Answer): string {
  const text = JSON.stringify(call, (_name, member: unknown) =>
    member instanceof Uint8Array ? [...member] : member,
  );
  return (
    `${text}\nreal: ${real.error ?? "done"} ${real.message}\nmodel: ${model.error ?? "done"} ` +
    model.message
  );
}

describe("the model of DynamoDB", () => {
  test.each(differentialSeeds)(
    "gives the same answers as a real server to random calls (seed %i)",
    async (seed) => {
      await fc.assert(
        fc.asyncProperty(
          fillings,
          fc.array(calls({ transactions: servers.dynamoDbLocal }), {
            minLength: 10,
            maxLength: callsMax,
          }),
          (filling, sequence) => compareSequence([...filling, ...sequence]),
        ),
        {
          seed,
          numRuns: runsOf(runsDefault[servers.dynamoDbLocal ? "dynamoDbLocal" : "dynalite"]),
          endOnFailure: process.env["CI"] === "true",
        },
      );
      console.log(`DynamoDB, seed ${seed.toString()}: ${tally.toString()}`);
      expect(tally.compared).toBeGreaterThan(0);
    },
    3_600_000,
  );
});
