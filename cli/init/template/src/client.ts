/** How this program finds its deployment. Make one client per process, not one per call. */
import { type Client, createClient } from "tidemark";

/**
 * The stack of `npm start`, unless the environment names a deployment: TIDEMARK_DEPLOYMENT, and
 * AWS_ENDPOINT_URL where that is not on AWS.
 */
export function connect(environment: NodeJS.ProcessEnv): Client {
  const { TIDEMARK_DEPLOYMENT: deployment, AWS_ENDPOINT_URL: url } = environment;
  if (deployment === undefined) return createClient({ endpoint: "http://127.0.0.1:4600" });
  const endpoints = url === undefined ? {} : { dynamodb: url, kinesis: url };
  return createClient({ deployment, endpoints });
}
