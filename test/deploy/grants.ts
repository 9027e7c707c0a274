/** The module's grants as data, and both directions of comparing them with calls that were seen. */
import { moduleFile } from "../../localstack/module-settings.ts";
import type { RecordedCall } from "./call-recorder.ts";

export type Grant = {
  readonly sid: string;
  readonly on: string;
  readonly actions: readonly string[];
  /** Patterns of partition keys; `*` stands for any text. Undefined: any key. */
  readonly leadingKeys?: readonly string[];
};

export type GrantSet =
  | "oracle"
  | "replay"
  | "reaper"
  | "provision"
  | "split"
  | "readOnly"
  | "write"
  | "express"
  | "keepHouse"
  | "feeds"
  | "seeFeeds"
  | "rest"
  | "mapping"
  | "fanOut";

export function readGrants(): Readonly<Record<GrantSet, readonly Grant[]>> {
  return JSON.parse(moduleFile("grants.json")) as Record<GrantSet, readonly Grant[]>;
}

/** Calls that no grant allows: the function would be denied on AWS. */
export function denied(grants: readonly Grant[], calls: readonly RecordedCall[]): string[] {
  return calls.filter((call) => !grants.some((grant) => allows(grant, call))).map(textOf);
}

/** Actions, and patterns of keys, that were granted and that no call needed. */
export function unused(grants: readonly Grant[], calls: readonly RecordedCall[]): string[] {
  const found: string[] = [];
  for (const grant of grants) {
    for (const action of grant.actions) {
      const one = { ...grant, actions: [action] };
      if (!calls.some((call) => allows(one, call))) found.push(`${grant.sid}: ${action}`);
    }
    for (const pattern of grant.leadingKeys ?? []) {
      const one = { ...grant, leadingKeys: [pattern] };
      if (!calls.some((call) => allows(one, call))) found.push(`${grant.sid}: keys ${pattern}`);
    }
  }
  return found;
}

/**
 * As IAM evaluates `ForAllValues:StringLike`: every key that the request names must match a
 * pattern.
 */
export function allows(grant: Grant, call: RecordedCall): boolean {
  if (!isOn(grant, call) || !grant.actions.includes(call.action)) return false;
  const patterns = grant.leadingKeys;
  if (patterns === undefined) return true;
  return call.leadingKeys.every((key) => patterns.some((pattern) => matches(pattern, key)));
}

/** A mixed table is one of the tables, too. */
function isOn({ on }: Grant, call: RecordedCall): boolean {
  return on === call.on || (on === "tables" && call.on === "mixedTables");
}

function matches(pattern: string, key: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(key);
}

function textOf({ action, on, leadingKeys }: RecordedCall): string {
  return `${action} on ${on}${leadingKeys.length === 0 ? "" : ` (${leadingKeys.join(", ")})`}`;
}
