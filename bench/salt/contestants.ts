/**
 * The same operations in three ways: each as one ACID transaction; those that have steps as BASE
 * transactions, the others as ACID; and as plain calls, one step after the other, without any
 * guarantee.
 */
import {
  type Client,
  ConflictError,
  defineBase,
  defineTable,
  type Table,
} from "../../sdk/index.ts";
import { plainCalls } from "../contestants/native.ts";
import { readOnly, readWrite, type TableOf } from "../contestants/tidemark.ts";
import { type Operation, RolledBack, type Step } from "../harness/workload.ts";
import type { ProjectedDeployment } from "../projection/projected-deployment.ts";

export const saltContestants = ["ACID", "BASE", "raw"] as const;
export type SaltContestant = (typeof saltContestants)[number];

export type Ran = {
  readonly kind: "committed" | "rolled-back";
  /** From the beginning to the answer that the caller may go by: BASE answers early. */
  readonly answerMs: number;
};

export type SaltClient = (operation: Operation) => Promise<Ran>;

const patience = { attemptsMax: 1_000, deadlineMs: 60_000 } as const;

/** A new process of that kind. */
export function startSaltClient(
  contestant: SaltContestant,
  deployment: ProjectedDeployment,
): SaltClient {
  const { time } = deployment.world;
  const wait = (ms = 0): Promise<void> => (ms === 0 ? Promise.resolve() : time.sleep(ms));
  const run =
    contestant === "raw" ? rawRuns(deployment, wait) : tidemarkRuns(contestant, deployment, wait);
  return async (operation) => {
    const beganMs = time.nowMs;
    let answeredMs: number | undefined;
    try {
      await run(operation, () => {
        answeredMs = time.nowMs;
      });
    } catch (error) {
      if (!(error instanceof RolledBack)) throw error;
      return { kind: "rolled-back", answerMs: time.nowMs - beganMs };
    }
    return { kind: "committed", answerMs: (answeredMs ?? time.nowMs) - beganMs };
  };
}

type Wait = (ms: number | undefined) => Promise<void>;
/** @throws RolledBack; ConflictError and others as they come. */
type Runs = (operation: Operation, onAnswer: () => void) => Promise<void>;

function rawRuns(deployment: ProjectedDeployment, wait: Wait): Runs {
  const calls = plainCalls(deployment.startPlainClient(), {
    tableName: ({ name }) => name,
    inTurn: false,
  });
  return async ({ name, readOnly: isReadOnly, body, steps }) => {
    const parts: readonly Step[] = steps ?? [{ name, body }];
    for (const step of parts) {
      const { kind } = await calls.run({ name, readOnly: isReadOnly, body: step.body });
      if (kind === "rolled-back") throw new RolledBack(name);
      await wait(step.waitMs);
    }
  };
}

function tidemarkRuns(
  contestant: Exclude<SaltContestant, "raw">,
  deployment: ProjectedDeployment,
  wait: Wait,
): Runs {
  const client = deployment.startClient("auto", () => undefined);
  const tables = new Map<string, Table>();
  const tableOf: TableOf = ({ name }) => {
    const table = tables.get(name) ?? defineTable(name);
    tables.set(name, table);
    return table;
  };
  const base = contestant === "BASE" ? baseRuns(client, tableOf, wait) : undefined;
  return async (operation, onAnswer) => {
    const { steps, body } = operation;
    if (operation.readOnly) {
      await client.snapshot(patience, (snapshot) => body(readOnly(snapshot, tableOf)));
    } else if (steps !== undefined && base !== undefined) {
      await base(steps, onAnswer);
    } else {
      const waitsMs = (steps ?? []).reduce((sum, { waitMs = 0 }) => sum + waitMs, 0);
      await client.transact(patience, async (tx) => {
        await body(readWrite(tx, tableOf));
        await wait(waitsMs);
      });
    }
  };
}

/** Its handler finds the steps by the id: no process dies here, so nothing is lost with it. */
function baseRuns(
  client: Client,
  tableOf: TableOf,
  wait: Wait,
): (steps: readonly Step[], onAnswer: () => void) => Promise<void> {
  const underWay = new Map<string, readonly Step[]>();
  const runSteps = defineBase("steps", async (base) => {
    for (const { name, body, waitMs } of underWay.get(base.id) ?? []) {
      await base.step(name, (tx) => body(readWrite(tx, tableOf)));
      await wait(waitMs);
    }
  });
  let begun = 0;
  const own = nextPrefix();
  return async (steps, onAnswer) => {
    begun += 1;
    const id = `${own}-${begun.toString()}`;
    underWay.set(id, steps);
    try {
      const { accepted } = await insisting(() => client.base(runSteps, undefined, { id }));
      onAnswer();
      await accepted.result({ deadlineMs: patience.deadlineMs });
    } finally {
      underWay.delete(id);
    }
  };
}

let prefixes = 0;
function nextPrefix(): string {
  prefixes += 1;
  return prefixes.toString();
}

/** A first step that conflicts too often is told to its caller, and begins again as ACID's do. */
async function insisting<Result>(task: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await task();
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}
