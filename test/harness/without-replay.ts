/** A deployment whose replay runs only when a test calls it, with a table of each kind. */
import type { TableDescription } from "../../core/types.ts";
import { startLocalDeployment, type LocalDeployment } from "./local-deployment.ts";

export type WithoutReplay = {
  readonly deployment: LocalDeployment;
  readonly plain: TableDescription;
  /** With history. */
  readonly kept: TableDescription;
};

export async function startWithoutReplay(): Promise<WithoutReplay> {
  const deployment = await startLocalDeployment({ stopped: ["replay"] });
  const [plain, kept] = await Promise.all([
    deployment.stores.createTable("plain"),
    deployment.stores.createTable("kept", { history: true }),
  ]);
  return { deployment, plain, kept };
}
