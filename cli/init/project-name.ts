/** What a project may be called. The name is the npm package's and the deployment's. */
import { InvalidRequestError } from "../../core/errors.ts";

/** What the Terraform module takes as a deployment's name; npm takes all of these. */
const namePattern = /^[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?$/;

/**
 * @param taken names of packages that the project depends on: npm installs none of them into a
 * project of its own name.
 * @throws InvalidRequestError that says what a name has to be, and suggests one.
 */
export function assertProjectName(name: string, taken: readonly string[]): void {
  if (taken.includes(name)) {
    throw new InvalidRequestError(
      "name",
      `the project needs the package "${name}", and so cannot have its name; ` +
        `say another: --name my-${name}`,
    );
  }
  if (namePattern.test(name)) return;
  throw new InvalidRequestError(
    "name",
    `"${name.slice(0, 80)}" cannot be the project's name, which is that of its deployment: 1 to ` +
      `30 characters out of a-z, 0-9 and inner hyphens; say one: --name ${suggested(name)}`,
  );
}

function suggested(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const short = plain.slice(0, 30).replaceAll(/^-+|-+$/g, "");
  return short === "" ? "my-app" : short;
}
