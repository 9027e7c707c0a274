/**
 * Contestants as the benchmark works them: those in client processes of ours, and those that are
 * programs of their own.
 */
import { join } from "node:path";
import type { ClientRun } from "./client-messages.ts";
import { ClientGroup, type GroupTask } from "./client-processes.ts";
import type { ContestantName, InProcessContestant } from "./contestant.ts";
import { loadTables } from "./load-tables.ts";
import type { Plan } from "./plan.ts";
import type { Stage } from "./stage.ts";
import type { Workload } from "./workload.ts";

export type Participant = {
  readonly name: ContestantName;
  /** Why it cannot take part in this workload; undefined if it can. */
  refusal(workload: Workload): Promise<string | undefined>;
  /** Makes and fills its own tables for the workload; what is filled already stays. */
  fill(workload: Workload): Promise<void>;
  /** Outside any measurement. */
  warmUp(task: GroupTask): Promise<void>;
  /** One result per process that had a worker. */
  run(task: GroupTask): Promise<readonly ClientRun[]>;
  /** Whether `run` counts calls and units at no cost for its times. */
  readonly alwaysCounts: boolean;
  /** The workload's conditions on its tables; undefined if it checks none. */
  check(workload: Workload): Promise<readonly string[] | undefined>;
  stop(): Promise<void>;
};

export function clientParticipant(
  stage: Stage,
  name: InProcessContestant,
  { processes, profileFolder }: Pick<Plan, "processes" | "profileFolder">,
): Participant {
  const { clientScript: script, environment, target } = stage;
  const filled = new Set<string>();
  let started: Promise<ClientGroup> | undefined;
  const group = (): Promise<ClientGroup> =>
    (started ??= ClientGroup.start({
      script,
      environment,
      processes,
      profileFolder: profileFolder === undefined ? undefined : join(profileFolder, name),
      settings: { contestant: name, target },
    }));
  return {
    name,
    alwaysCounts: false,
    refusal: () =>
      Promise.resolve(
        name === "transact-write-items" && !stage.knowsTransactWriteItems
          ? "dynalite knows no TransactWriteItems"
          : undefined,
      ),
    async fill(workload) {
      const missing = workload.tables.filter((table) => !filled.has(table.name));
      if (missing.length === 0) return;
      await loadTables(target, name, { ...workload, tables: missing });
      for (const table of missing) filled.add(table.name);
    },
    async warmUp(task) {
      await (await group()).run(task);
    },
    run: async (task) => (await group()).run(task),
    check: async ({ name: workload, violations }) =>
      violations === undefined ? undefined : (await group()).check(workload),
    async stop() {
      // One that never came about has nothing to stop.
      const stopping = await started?.catch(() => undefined);
      await stopping?.stop();
    },
  };
}
