/**
 * Tidemark's public API: interactive ACID transactions over DynamoDB tables. Importing it does no
 * work and loads no AWS package. docs/sdk.md shows each part in use.
 * @module tidemark
 */
export { createClient } from "./connect.ts";
export type { Client } from "./client.ts";
export type { Moment, OutcomeOptions, SnapshotOptions, TransactOptions } from "./call-options.ts";
export type {
  AwsCredentials,
  ClientOptions,
  DeployedClientOptions,
  EmbeddedClientOptions,
  SharedClientOptions,
} from "./client-options.ts";
export { defineBase } from "./base-definition.ts";
export { baseRunnerHandler } from "./base-function.ts";
export type { BaseRunnerFunctionOptions } from "./base-function.ts";
export type { BaseRunnerOptions } from "./base-runner-options.ts";
export type { AnyBase, BaseDefinition, BaseOptions, BaseSteps } from "./base-definition.ts";
export type {
  BaseHandle,
  BaseRequested,
  BaseStarted,
  BaseStartOptions,
  BaseStatus,
  BaseTrouble,
} from "./base.ts";
export type { ChangesOptions, ConsumeOptions } from "./changes-options.ts";
export type { ChangedRows, ChangeHandler, Changes, FeedContext, RowChange } from "./row-changes.ts";
export { feedHandler } from "./feed-function.ts";
export { defineTable } from "./table.ts";
export type {
  AnyTable,
  Attributes,
  InputOf,
  ItemOf,
  KeyInput,
  KeyOf,
  KeyValue,
  PartitionNameOf,
  PartitionOf,
  Patch,
  RowOf,
  SchemaTableOptions,
  Table,
  TableOptions,
  Validator,
  ValidatorIssue,
  ValidatorResult,
} from "./table.ts";
export type { Change } from "./row-updates.ts";
export type {
  BatchRows,
  SdkClient,
  SdkCommand,
  SdkOutput,
  Snapshot,
  SnapshotBody,
  Transacted,
  Transaction,
  TransactionBody,
} from "./transaction.ts";
export type {
  AllOptions,
  IndexWhere,
  PageOptions,
  QueryOptions,
  Rows,
  RowsPage,
  ScanOptions,
  SortCondition,
  Where,
} from "./query.ts";
export type { MarshallOptions } from "./marshall.ts";
export type { Numbers } from "./numbers.ts";
export {
  BaseOpenError,
  BaseRefusedError,
  ChangesExpiredError,
  CommitUnknownError,
  ConflictError,
  CorruptDataError,
  IdempotencyKeyReusedError,
  InvalidRequestError,
  SnapshotTooOldError,
  TransactionClosedError,
  TransactionError,
  TransactionTooLargeError,
  UnavailableError,
} from "../core/errors.ts";
export type {
  BaseRefusal,
  CallPhase,
  ConflictDetail,
  DamagedItem,
  ErrorCode,
  PassedDeadline,
} from "../core/errors.ts";
export { StepFailedError } from "../engine/base/step-failed.ts";
export type { Clock, Consumption, Random } from "../core/ports.ts";
export type { AttributeValue, Isolation, Item, Timestamp, TransactionId } from "../core/types.ts";
export type { Acknowledgement, EngineEvent, Phases, Receipt } from "../engine/types.ts";
