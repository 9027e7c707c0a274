/**
 * `tidemark/testing`: an in-memory cloud in which an application's tests run its own transactions
 * against conflicts, retries, unknown outcomes and failing services, in virtual time and from one
 * seed. docs/testing.md shows each part in use.
 * @module tidemark/testing
 */
export { createTestCloud } from "./test-cloud.ts";
export type { TestCloud } from "./test-cloud.ts";
export type { TestProcess } from "./test-process.ts";
export { testTable, type TestTableOptions } from "./test-tables.ts";
export type { TestClientOptions, TestCloudOptions } from "./test-cloud-options.ts";
export type { TestTable } from "./deployment-options.ts";
export type { UnknownOutcome } from "./directed-faults.ts";
export { faultDescriptions, faultNames } from "./kernel/faults.ts";
export type { FaultName, FaultPlan } from "./kernel/faults.ts";
export type { Latency, ServiceName } from "./kernel/service-link.ts";
export { VirtualTimeoutError } from "./kernel/virtual-time.ts";
export { ServiceError } from "../expressions/service-error.ts";
export { NotModelledError } from "./cloud/not-modelled.ts";
export { checkBaseHistory as checkHistory } from "./checker/check-base.ts";
export type { CheckOptions, CheckReport } from "./checker/check-history.ts";
export type { Anomaly, CycleStep, Finding } from "./checker/findings.ts";
export type {
  FinalState,
  History,
  HistoryKind,
  HistoryOp,
  HistoryStatus,
  HistoryTransaction,
  VersionOrder,
} from "./history/types.ts";
