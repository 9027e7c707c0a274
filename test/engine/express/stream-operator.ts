/** Somebody who takes a deployment's stream away, and brings it back, by `provision`. */
import type { StreamWish } from "../../../aws/stream-wish.ts";
import { provisionDeployment } from "../../../aws/provision.ts";
import type { TestCloud } from "../../../testing/index.ts";

export const minuteMs = 60_000;
/** Replay's schedule comes once a minute: what is to be drained is, long before. */
const drainMs = 60 * minuteMs;

export function operatorOf(cloud: TestCloud): (stream: StreamWish) => Promise<unknown> {
  const { world, options } = cloud.deployment;
  const process = world.startProcess("operator", { exact: true });
  const { clock, random } = process;
  const handles = world.handles(process, { calm: true });
  const { deployment } = options;
  return (stream) => provisionDeployment({ handles, clock, random, deployment, stream, drainMs });
}
