/** No table can be mixed yet: replay stops where one is, and passes nothing over. */
import { describe, expect, test } from "vitest";
import type { CommittedVerdict, LogPosition, Stamp, TableDescription } from "../../core/types.ts";
import { cleanUpAborted, installVoted } from "../../functions/replay/voted.ts";
import { id, startTimestamp } from "../core/oracle-harness.ts";
import { payloadOf } from "./oracle-batches.ts";

function tablesOf(access: string) {
  const accounts = { name: "accounts", access } as unknown as TableDescription;
  return { find: () => accounts, all: () => [accounts] };
}

function voted(stamps: readonly Stamp[]): CommittedVerdict {
  const payload = { kind: "prepared", position: 1 as LogPosition } as const;
  return {
    ...{ kind: "committed", id: id(1), timestamp: startTimestamp, writes: [] },
    ...{ payload, stamps },
  };
}

const stamp: Stamp = { kind: "nonce", nonce: new Uint8Array(16) };

describe("a commit by vote", () => {
  test.each([
    ["of transactional tables is installed as any other", "transactional", [], true],
    ["whose stamps name nothing is, too", "transactional", [stamp], true],
    ["of a mixed table is refused", "mixed", [stamp], false],
  ] as const)("%s", (_, access, stamps, isInstalled) => {
    const install = () => {
      installVoted({ verdict: voted(stamps), payload: payloadOf("a") }, tablesOf(access));
    };
    if (isInstalled) expect(install).not.toThrow();
    else expect(install).toThrow("replaced by nobody yet");
  });
});

describe("a vote against", () => {
  test.each([
    ["is passed where no table is mixed", "transactional", true],
    ["is refused where one is", "mixed", false],
  ] as const)("%s", (_, access, isPassed) => {
    const cleanUp = () => {
      cleanUpAborted(tablesOf(access));
    };
    if (isPassed) expect(cleanUp).not.toThrow();
    else expect(cleanUp).toThrow("taken away by nobody yet");
  });
});
