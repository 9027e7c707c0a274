/** Which names are Tidemark's own. */
import { expect, test } from "vitest";
import { deploymentNames } from "../../aws/names.ts";
import { isOwnTable } from "../../core/own-tables.ts";

test.each(["dev", "a", "a-log", "x.y_z", "control"])(
  "the tables of deployment %s",
  (deployment) => {
    const { logTable, controlTable, versionsTable } = deploymentNames(deployment);
    expect([logTable, controlTable, versionsTable].map(isOwnTable)).toEqual([true, true, true]);
  },
);

test.each(["accounts", "log", "tidemark-log", "tidemark-dev-orders", "my-tidemark-dev-log"])(
  "%s is a user's",
  (name) => {
    expect(isOwnTable(name)).toBe(false);
  },
);
