/** `npm run typecheck`: every project of sources and tests, whatever the one before says. */
import { compiles } from "./compiler.ts";

const projects = ["", "core/", "console/page/", "test/console/page/", "cli/init/template/"];
const failed = projects.filter((folder) => !compiles(`${folder}tsconfig.json`));
process.exitCode = failed.length === 0 ? 0 : 1;
