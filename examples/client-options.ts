/** What programs that others start are told by their environment: where their deployment is. */
import type { ClientOptions } from "../sdk/index.ts";
import { defaultEndpoint } from "./endpoint-option.ts";

/**
 * TIDEMARK_DEPLOYMENT on AWS, whose region and credentials the AWS SDK finds by itself; else the
 * stack at TIDEMARK_ENDPOINT, or where `npm start` serves.
 */
export function clientOptionsFrom(
  environment: Readonly<Record<string, string | undefined>>,
): ClientOptions {
  const { TIDEMARK_DEPLOYMENT: deployment, TIDEMARK_ENDPOINT: endpoint } = environment;
  if (deployment !== undefined) return { deployment };
  return { endpoint: endpoint ?? defaultEndpoint };
}
