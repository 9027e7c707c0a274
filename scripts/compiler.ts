/**
 * The native TypeScript compiler, by its path: `typescript`, whose API the linter and some scripts
 * use, has a command of the same name.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const compiler = join(root, "node_modules", "typescript-native", "bin", "tsc");

/** @returns whether the project compiles; what does not is printed. */
export function compiles(project: string): boolean {
  const options = { cwd: root, stdio: "inherit" } as const;
  return spawnSync(process.execPath, [compiler, "-p", project], options).status === 0;
}
