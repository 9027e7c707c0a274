/** Somebody who takes a deployment's stream away, and brings it back, by `provision`. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { StreamWish } from "../../../aws/stream-wish.ts";
import { provisionDeployment } from "../../../aws/provision.ts";
import type { TestCloud } from "../../../testing/index.ts";

export const minuteMs = 60_000;
/** Replay's schedule comes once a minute: what is to be drained is, long before. */
const drainMs = 60 * minuteMs;

/** @param beforeStreamEntry before each call for what the registry says of the stream. */
export function operatorOf(
  cloud: TestCloud,
  { beforeStreamEntry }: { readonly beforeStreamEntry?: () => Promise<void> } = {},
): (stream: StreamWish) => Promise<unknown> {
  const { world, options } = cloud.deployment;
  const process = world.startProcess("operator", { exact: true });
  const { clock, random } = process;
  const real = world.handles(process, { calm: true });
  const client =
    beforeStreamEntry === undefined
      ? real.dynamodb.client
      : heldUp(real.dynamodb.client, beforeStreamEntry);
  const handles = { ...real, dynamodb: { ...real.dynamodb, client } };
  const { deployment } = options;
  return (stream) => provisionDeployment({ handles, clock, random, deployment, stream, drainMs });
}

function heldUp(client: DynamoDBClient, before: () => Promise<void>): DynamoDBClient {
  type Request = { readonly input: { readonly Key?: { readonly sk?: { readonly S?: string } } } };
  const real = client.send.bind(client) as (...request: readonly unknown[]) => Promise<unknown>;
  const send = async (request: Request, ...rest: readonly unknown[]): Promise<unknown> => {
    if (request.input.Key?.sk?.S === "#stream") await before();
    return real(request, ...rest);
  };
  return new Proxy(client, {
    get: (target, name): unknown => (name === "send" ? send : Reflect.get(target, name)),
  });
}
