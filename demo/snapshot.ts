/**
 * The demo's programs, all built from one reading of the sources before any of them runs: whoever
 * edits a source file meanwhile changes nothing about this run, restarted processes and the audit
 * included.
 */
import { handlerFiles } from "../localstack/stack-functions.ts";
import {
  bundleScripts,
  stackEntries,
  type StackScripts,
  stackScripts,
} from "../localstack/stack-bundle.ts";

export type DemoScripts = {
  /** `command.ts`: everything that is done by the demo's own process. */
  readonly command: string;
  /** `client-process.ts`. */
  readonly client: string;
  /** `native-process.ts`. */
  readonly native: string;
  /** `base-process.ts`. */
  readonly base: string;
  readonly stack: StackScripts;
};

/** The demo's own programs by name. */
export const demoEntries = [
  ["demo-command", "demo/command.ts"],
  ["demo-client", "demo/client-process.ts"],
  ["demo-native", "demo/native-process.ts"],
  ["demo-base", "demo/base-process.ts"],
] as const;

/** @throws StackError if they cannot be built. */
export async function takeSnapshot(): Promise<DemoScripts> {
  const entries = new Map<string, string>([...stackEntries(handlerFiles), ...demoEntries]);
  const scripts = await bundleScripts(entries);
  return {
    command: scripts.get("demo-command") ?? "",
    client: scripts.get("demo-client") ?? "",
    native: scripts.get("demo-native") ?? "",
    base: scripts.get("demo-base") ?? "",
    stack: stackScripts(scripts),
  };
}
