/** Whether a program can be run here. */
import { spawnSync } from "node:child_process";

export function commandExists(name: "java" | "mvn"): boolean {
  const { status } = spawnSync(name, ["-version"], { stdio: "ignore" });
  return status === 0;
}
