/**
 * Items of a mixed table as a naive map, one at a time: what each call of the port and each native
 * write does to an item, said once more and without expressions.
 */
import { sameValue } from "../../../core/item-content.ts";
import { fenceBytesOf, fenceOf, identityOf, sameIdentity } from "../../../core/item-identity.ts";
import type {
  Attempted,
  CleanUpRequest,
  FenceRequest,
  LocalWrite,
  StampedInstall,
  StampRequest,
} from "../../../core/mixed-items-port.ts";
import type { AttributeValue, Item, TransactionId } from "../../../core/types.ts";

type Fields = Record<string, AttributeValue>;

export class NaiveItems {
  readonly #items = new Map<string, Item>();

  get(key: Item): Item | undefined {
    return this.#items.get(JSON.stringify(key));
  }

  put(key: Item, item: Item | undefined): void {
    if (item === undefined) this.#items.delete(JSON.stringify(key));
    else this.#items.set(JSON.stringify(key), item);
  }

  fence(request: FenceRequest): Attempted {
    const { key, expects, id, nonce, over } = request;
    const old = this.get(key);
    const isFree = expects.kind === "absent" || isFreeOf(old, over);
    const found = identityOf(old);
    const isNamed = found.kind === "nonce" || found.kind === "version";
    const isFit = expects.kind === "identified" ? isNamed : sameIdentity(found, expects);
    if (!isFit || !isFree) return { kind: "refused", shown: old };
    this.put(key, {
      ...(old ?? key),
      _f: { B: fenceBytesOf(id) },
      ...(isNamed ? {} : { _n: { B: nonce } }),
      ...(old === undefined ? { _x: { BOOL: true } } : {}),
    });
    return { kind: "done", old };
  }

  stamp({ key, expects, nonce, over }: StampRequest): Attempted {
    const old = this.get(key);
    if (!sameIdentity(identityOf(old), expects) || !isFreeOf(old, over)) {
      return { kind: "refused", shown: old };
    }
    this.put(key, { ...old, _n: { B: nonce } });
    return { kind: "done", old };
  }

  install(request: StampedInstall): "installed" | "superseded" {
    const { id, key, item, version, stamp, leavesTombstone = false } = request;
    const old = this.get(key);
    const isFenced = old !== undefined && fenceOf(old) === id;
    if (!isFenced || !sameIdentity(identityOf(old), stamp)) return "superseded";
    const tombstone = leavesTombstone ? { ...key, _x: { BOOL: true } } : undefined;
    const left = item ?? tombstone;
    this.put(key, left && { ...left, _v: { N: version.toString() } });
    return "installed";
  }

  cleanUp({ key, id, removes }: CleanUpRequest): "cleaned" | "kept" {
    const old = this.get(key);
    const isMarked = old?.["_x"] !== undefined;
    if (old === undefined || fenceOf(old) !== id || isMarked !== (removes !== "fence"))
      return "kept";
    const keepsMark = removes === "tombstone-fence";
    if (keepsMark && old["_v"] === undefined) return "kept";
    const rest = Object.entries(old).filter(
      ([name]) => name !== "_f" && (keepsMark || name !== "_x"),
    );
    this.put(key, removes === "item" ? undefined : Object.fromEntries(rest));
    return "cleaned";
  }

  writeLocally({ key, table, change, condition, nonce, over }: LocalWrite): Attempted {
    const old = this.get(key);
    if (
      condition === undefined
        ? !isFreeOf(old, over)
        : !this.#holds({ old, change, condition, over })
    ) {
      return { kind: "refused", shown: old };
    }
    if (change.kind === "delete") this.put(key, undefined);
    if (change.kind === "put") this.put(key, { ...change.item, _n: { B: nonce } });
    if (change.kind === "update") {
      const fields: Fields = { ...old, ...change.set, _n: { B: nonce } };
      const isKept = ([name]: [string, unknown]) =>
        name === table.partitionKey || !change.remove.includes(name);
      this.put(key, Object.fromEntries(Object.entries(fields).filter(isKept)));
    }
    return { kind: "done", old: change.kind === "update" ? old : undefined };
  }

  #holds({
    old,
    change,
    condition,
    over,
  }: Pick<LocalWrite, "change" | "over"> & {
    readonly old: Item | undefined;
    readonly condition: NonNullable<LocalWrite["condition"]>;
  }): boolean {
    const { expects, content = {} } = condition;
    if (!sameIdentity(identityOf(old), expects)) return false;
    if (expects.kind !== "absent" && !isFreeOf(old, over)) return false;
    const isEqual = ([name, value]: [string, AttributeValue]) => {
      const now = old?.[name];
      return now !== undefined && sameValue(now, value);
    };
    const added = change.kind === "update" ? Object.keys(change.set) : [];
    const isNew = (name: string) => name in content || old?.[name] === undefined;
    return Object.entries(content).every(isEqual) && added.every(isNew);
  }
}

function isFreeOf(item: Item | undefined, over: TransactionId | undefined): boolean {
  const fence = item && fenceOf(item);
  return fence === undefined || fence === over;
}
