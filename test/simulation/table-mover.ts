/** An operator who moves a table from one access to the other, in a simulated cloud. */
import { moveRegistered, type MoveProgress } from "../../aws/move-registered.ts";
import type { AccessState } from "../../core/table-access.ts";
import type { TableAccess, TableDescription } from "../../core/types.ts";
import type { TestCloud } from "../../testing/index.ts";

export type Mover = {
  readonly moved: Promise<TableDescription>;
  /** What it has said so far: states as `guarded to mixed`, and other work by its kind. */
  readonly said: readonly string[];
  /** Resolves when it has said so. */
  until(said: string): Promise<void>;
  /** Its process is gone, whatever is under way. */
  crash(): void;
};

export function startMover(
  cloud: TestCloud,
  table: string,
  to: TableAccess,
  signal?: AbortSignal,
): Mover {
  const { world, deployment } = cloud;
  const process = world.startProcess(`mover to ${to}`);
  const handles = world.handles(process, { calm: true });
  const app = cloud.startProcess("mover", { commit: "stream", housekeeping: true });
  const said: string[] = [];
  const waiting: { readonly text: string; readonly tell: () => void }[] = [];
  const say = (text: string): void => {
    said.push(text);
    for (const each of waiting.filter((one) => one.text === text)) each.tell();
  };
  const moved = moveRegistered(
    {
      ...{ handles, clock: process.clock, random: process.random },
      deployment: deployment.options.deployment,
      commit: async (idempotencyKey) => {
        const given = { idempotencyKey };
        const { receipt } = await app.client.transact(given, () => Promise.resolve(null));
        if (receipt.commitTimestamp === undefined) throw new Error("a commit has a timestamp");
        return receipt.commitTimestamp;
      },
    },
    {
      table,
      to,
      signal,
      onProgress: (progress) => {
        if (progress.kind !== "waiting") say(textOf(progress));
      },
    },
  );
  moved.then(() => app.client.close()).catch(() => undefined);
  return {
    moved,
    said,
    until: (text) =>
      said.includes(text)
        ? Promise.resolve()
        : new Promise((tell) => void waiting.push({ text, tell })),
    crash: () => {
      process.crash();
      app.crash();
    },
  };
}

function textOf(progress: Exclude<MoveProgress, { kind: "waiting" }>): string {
  if (progress.kind === "entered") return stateText(progress.state);
  return progress.kind === "swept" ? `swept ${progress.swept.toString()}` : progress.kind;
}

function stateText({ access, move }: AccessState): string {
  return move === undefined ? access : `${move.stage} to ${move.to}`;
}

/** As the registry has it. */
export async function registeredState(cloud: TestCloud, table: string): Promise<string> {
  const process = cloud.world.startProcess("onlooker", { exact: true });
  const { control } = cloud.deployment.portsOf(process, { calm: true });
  const found = (await control.tables()).find(({ name }) => name === table);
  return found === undefined ? "not registered" : stateText(found);
}
