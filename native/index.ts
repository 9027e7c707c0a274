/**
 * `tidemark/native`: native DynamoDB operations beside transactions, on mixed tables
 * (docs/mixed-tables.md). An entry of its own, since an application that only runs transactions
 * does not need it.
 * @module tidemark/native
 */
export { tidemarkNative } from "./plugin.ts";
export type { MixedTable, NativeOptions, NativePlugin } from "./plugin.ts";
export type { FenceClearing, NativeAddress } from "../core/native-support.ts";
export { InvalidRequestError, UnavailableError } from "../core/errors.ts";
