/**
 * What traces call things, and what core calls them. An item is `x` (of a table `t` without sort
 * keys), `table/x`, or `table/partition/x`; a predicate ends with a star: `t/*`, `orders/ann/*`.
 * Transactions have names, too.
 */
import type { KeyHash, TransactionId, WriteHashes } from "../../core/types.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import type { Words } from "./words.ts";

export type NamedItem = { readonly name: string; readonly hashes: WriteHashes };

export type NamedHash = {
  readonly name: string;
  readonly hash: KeyHash;
  readonly on: "key" | "partition" | "table";
};

const part = "[a-z][a-z0-9-]*";
const itemName = new RegExp(`^(?:${part}|${part}/${part}|${part}/${part}/[a-z0-9-]+)$`, "u");
const predicateName = new RegExp(`^${part}(?:/${part})?/\\*$`, "u");
const transactionName = /^[A-Z]$/u;

export class Names {
  /** Items that have another one's hash. */
  readonly #aliases = new Map<string, string>();

  /** `same-hash x y`: y's key hash is x's. */
  collide(words: Words): NamedItem {
    const [first, second] = [this.item(words), this.item(words)];
    words.end();
    this.#aliases.set(second.name, first.name);
    return second;
  }

  id(words: Words): TransactionId {
    const name = words.next("a transaction");
    if (!transactionName.test(name)) {
      words.fail(`a transaction is a capital letter, not "${name}"`);
    }
    return name.charCodeAt(0).toString(16).padStart(32, "0") as TransactionId;
  }

  nameOf(id: TransactionId): string {
    return String.fromCharCode(Number(`0x${id}`));
  }

  item(words: Words): NamedItem {
    const name = words.next("an item");
    if (!itemName.test(name)) {
      words.fail(`an item is x, table/x or table/partition/x, not "${name}"`);
    }
    return { name, hashes: this.#hashesOf(name) };
  }

  /** An item or a predicate. */
  hash(words: Words): NamedHash {
    const name = words.peek();
    if (!predicateName.test(name)) return { name, hash: this.item(words).hashes.key, on: "key" };
    words.next("a predicate");
    const [table = "", partition = ""] = name.split("/");
    return partition === "*"
      ? { name, hash: sampleHashes.table(table), on: "table" }
      : { name, hash: sampleHashes.partition(table, { S: partition }), on: "partition" };
  }

  #hashesOf(name: string): WriteHashes {
    const own = plainHashes(name);
    const alias = this.#aliases.get(name);
    if (alias === undefined) return own;
    const { key } = plainHashes(alias);
    return { ...own, key, partition: own.sortKey === undefined ? key : own.partition };
  }
}

function plainHashes(name: string): WriteHashes {
  const parts = name.split("/");
  const [table = "", partition = "", sort] = parts.length === 1 ? ["t", name] : parts;
  const names = { name: table, partitionKey: "partition" };
  if (sort === undefined) return sampleHashes.item(names, { partition: { S: partition } });
  const key = { partition: { S: partition }, sort: { S: sort } };
  return sampleHashes.item({ ...names, sortKey: "sort" }, key);
}
