/** What a test has of an application process of its cloud (test-cloud.ts). */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Clock } from "../core/ports.ts";
import type { Client } from "../sdk/client.ts";
import type { UnknownOutcome } from "./directed-faults.ts";

/**
 * An application process: a client of its own, a clock of its own, and an end of its own. To
 * restart one, crash it and start another.
 */
export type TestProcess = {
  readonly client: Client;
  /**
   * DynamoDB as this process calls it beside its transactions: faults act on it. It takes the
   * plugin of `tidemark/native`: `app.dynamodb.middlewareStack.use(tidemarkNative({ client }))`.
   */
  readonly dynamodb: DynamoDBClient;
  /** The process's own clock: what it reads may be wrong, and its pauses take virtual time. */
  readonly clock: Clock;
  readonly state: "running" | "frozen" | "dead";
  /**
   * `act` runs once, when the body of this client's next transaction that has written something is
   * through, and before its commit is sent: where other programs do harm.
   * @example
   * app.beforeNextCommit(async () => {
   *   await other.transact(async (tx) => tx.delete(accounts, "ann"));
   * });
   */
  beforeNextCommit(act: () => Promise<void>): void;
  /**
   * The client's next commit is sent, and it never hears of it again: its transaction ends in
   * `CommitUnknownError` at its deadline. Until then nothing of the client commits. `committed`:
   * the request arrives and is decided, which is a commit unless it conflicts. `aborted`: it never
   * arrives, and nothing will come of it.
   * @example app.nextCommitUnknown("committed");
   */
  nextCommitUnknown(outcome: UnknownOutcome): void;
  /**
   * Stops for good, whatever is under way; promises of its transactions never settle.
   * @example
   * app.crash();
   * const restarted = cloud.startProcess("app");
   */
  crash(): void;
  /**
   * Stops at its next await, for a time or until `thaw`.
   * @example app.freeze(20_000);
   */
  freeze(durationMs?: number, clocks?: "run" | "stand"): void;
  /**
   * @example app.thaw();
   */
  thaw(): void;
  /**
   * `react` is called, from outside of the process, when it has crashed. As a promise:
   * `new Promise<void>((ended) => { app.onCrash(ended); })`.
   * @example
   * const died = new Promise<void>((ended) => {
   *   app.onCrash(ended);
   * });
   */
  onCrash(react: () => void): void;
};
