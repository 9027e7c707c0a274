/** Skips the single tests that scripts/deployed-suite-list.ts names. */
import { beforeEach } from "vitest";
import { leftOutTests } from "../../../scripts/deployed-suite-list.ts";

beforeEach(({ task, skip }) => {
  const entry = leftOutTests.find(
    ([file, title]) => task.file.filepath.endsWith(file) && task.name === title,
  );
  if (entry === undefined) return;
  const [, , reason] = entry;
  task.meta.notHere = reason;
  skip(reason);
});
