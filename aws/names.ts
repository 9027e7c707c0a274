/**
 * Every name that a deployment uses on AWS, derived from the deployment's own name, so that an SDK,
 * the functions and Terraform agree without talking to each other (docs/protocol.md §1).
 */
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { isOwnTable, ownTableNames, ownTables, type OwnTables } from "../core/own-tables.ts";

export type DeploymentNames = {
  readonly deployment: string;
  /** Kinesis stream of commit records. */
  readonly stream: string;
} & OwnTables;

/** What DynamoDB and Kinesis both accept in a name. */
const namePattern = /^[a-zA-Z0-9_.-]+$/;

/**
 * @throws InvalidRequestError when the deployment's name would not make valid table and stream
 * names.
 */
export function deploymentNames(deployment: string): DeploymentNames {
  const fits = deployment.length <= limits.deploymentNameLengthMax;
  if (!fits || !namePattern.test(deployment)) {
    throw new InvalidRequestError(
      "deployment",
      `the deployment "${deployment.slice(0, 80)}" must be 1 to ` +
        `${limits.deploymentNameLengthMax} ` +
        "characters out of letters, digits, underscore, dot and hyphen",
    );
  }
  return { deployment, stream: `tidemark-${deployment}-commits`, ...ownTables(deployment) };
}

/**
 * For a table that is to be registered.
 * @throws InvalidRequestError for one that some deployment keeps for itself.
 */
export function assertUsersTable(name: string): void {
  if (!isOwnTable(name)) return;
  throw new InvalidRequestError(
    "table",
    `table "${name.slice(0, limits.nameBytesMax)}" is Tidemark's own: the names ` +
      `${ownTableNames.join(", ")} are kept for deployments; name one of yours`,
  );
}
