/** What a client loads with its first feed. */
export { ChangeFeed } from "./changes.ts";
export { consume } from "./consumer.ts";
