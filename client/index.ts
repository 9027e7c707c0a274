/**
 * `tidemark/client`: commands of the AWS SDK, and libraries that send them, inside of transactions
 * (docs/orms.md). An entry of its own, since an application that has no such code does not need it.
 * @module tidemark/client
 */
export { outsideTransactions, tidemarkPlugin, warmUp } from "./plugin.ts";
export type { CommandPlugin } from "./plugin.ts";
export type { SendingClient } from "./current.ts";
