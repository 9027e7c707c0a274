/** Who made a block, by which way a commit went, and why one was refused, in words. Pure. */
import type { AbortReason, LogBlock } from "../../core/types.ts";
import type { Named } from "../names.ts";
import { isProvisioning, type wayOf } from "../tally.ts";
import { counted, momentText } from "./moments.ts";
import { boundText } from "./values.ts";

export function makerText(block: LogBlock): string {
  const { maker } = block;
  if (maker === undefined) return "oracle";
  if (!isProvisioning(block)) return `client ${maker.number.toString(16).padStart(8, "0")}`;
  return `provisioning: ${provisionedText(block)}`;
}

function provisionedText({ fork, handover }: LogBlock): string {
  if (fork !== undefined) {
    return `splits, hashes from ${boundText(fork.from)} on are shard ${fork.shard}'s`;
  }
  switch (handover?.kind) {
    case undefined:
      return "opens or closes the stream";
    case "closing":
      return "closes the log, to be joined: it takes nothing new";
    case "ended":
      return "ends the log: its hashes are its neighbour's";
    case "takes": {
      const { shard, from, endedAt } = handover;
      const whose = `takes shard ${shard}'s hashes, from ${boundText(from)} on`;
      return `${whose}: it ended with block ${endedAt}`;
    }
  }
}

export function reasonText(reason: AbortReason): string {
  switch (reason.kind) {
    case "conflict":
      return `conflict with the commit at ${momentText(reason.conflictTimestamp)}`;
    case "checked-ahead":
      return "checked-ahead: it claims to know more of the log than there is";
    case "payload-unreadable":
      return "payload-unreadable: its spilled payload is missing or damaged";
    case "too-large":
      return "too-large: more than the limits allow";
    case "table-unknown":
      return "table-unknown: it writes to a table that is not registered";
    case "table-differs":
      return "table-differs: a table is not as the registry has it";
    case "probed":
      return "probed: somebody asked for its outcome, or voted it down";
    case "elsewhere":
      return "elsewhere: it writes what lies in another shard";
  }
}

/** Behind the way by which something was committed. */
export function retriedText(named: Named | undefined): string {
  if (named?.kind !== "named" || named.earlierAttempts === 0) return "";
  return `, after ${counted(named.earlierAttempts, "run")} in vain`;
}

export function wayText(way: ReturnType<typeof wayOf>): string {
  switch (way) {
    case "stream":
      return "by the stream";
    case "express":
      return "express";
    case "vote":
      return "by vote";
    case "part":
      return "over several shards";
  }
}
