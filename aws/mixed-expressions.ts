/**
 * Conditions and updates on single items of mixed tables, as expressions: the tables of
 * docs/adr/0014-native-operations.md (Fence; Vote and install; Local commit). Attributes and values
 * go by short aliases, so that an expression's length does not depend on their names.
 * I10 holds by them: none of ours replaces a native write that it has not seen.
 */
import type { SdkItem } from "./attribute-values.ts";
import {
  fenceAttribute,
  markAttribute,
  nonceAttribute,
  versionAttribute,
} from "../core/attributes.ts";
import { fenceBytesOf, type Identity } from "../core/item-identity.ts";
import type {
  CleanUpRequest,
  FenceRequest,
  LocalWrite,
  StampedInstall,
  StampRequest,
} from "../core/mixed-items-port.ts";
import type { AttributeValue, Item, TransactionId } from "../core/types.ts";
import { toSdkValue } from "./attribute-values.ts";

export type Expressions = {
  readonly ConditionExpression: string;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues?: SdkItem;
};

class Aliases {
  readonly #names = new Map<string, string>();
  readonly #values: SdkItem = {};
  #valueCount = 0;

  name(attribute: string): string {
    const known = this.#names.get(attribute);
    if (known !== undefined) return known;
    const alias = `#${this.#names.size.toString()}`;
    this.#names.set(attribute, alias);
    return alias;
  }

  value(value: AttributeValue): string {
    const alias = `:${this.#valueCount.toString()}`;
    this.#valueCount += 1;
    this.#values[alias] = toSdkValue(value);
    return alias;
  }

  equals(attribute: string, value: AttributeValue): string {
    return `${this.name(attribute)}=${this.value(value)}`;
  }

  isThere(attribute: string): string {
    return `attribute_exists(${this.name(attribute)})`;
  }

  isMissing(attribute: string): string {
    return `attribute_not_exists(${this.name(attribute)})`;
  }

  /** No fence, or one that bars nothing: `F` of the ADR. */
  isFree(over: TransactionId | undefined): string {
    const isMissing = this.isMissing(fenceAttribute);
    return over === undefined ? isMissing : `(${isMissing} OR ${this.isFencedBy(over)})`;
  }

  isFencedBy(id: TransactionId): string {
    return this.equals(fenceAttribute, { B: fenceBytesOf(id) });
  }

  /** An identity, whichever. */
  hasAny(): string {
    return `(${this.isThere(nonceAttribute)} OR ${this.isThere(versionAttribute)})`;
  }

  has(identity: Identity, partitionKey: string): readonly string[] {
    switch (identity.kind) {
      case "nonce":
        return [this.equals(nonceAttribute, { B: identity.nonce })];
      case "version":
        return [
          this.isMissing(nonceAttribute),
          this.equals(versionAttribute, { N: identity.version.toString() }),
        ];
      case "bare":
        return [
          this.isThere(partitionKey),
          this.isMissing(nonceAttribute),
          this.isMissing(versionAttribute),
        ];
      case "absent":
        return [this.isMissing(partitionKey)];
    }
  }

  expressions(conditions: readonly string[], update?: string): Expressions {
    return {
      ConditionExpression: conditions.join(" AND "),
      ...(update === undefined ? {} : { UpdateExpression: update }),
      ExpressionAttributeNames: Object.fromEntries(
        [...this.#names].map(([attribute, alias]) => [alias, attribute]),
      ),
      ...(this.#valueCount === 0 ? {} : { ExpressionAttributeValues: this.#values }),
    };
  }
}

/** An identity of its own, or a nonce; of what was absent a placeholder. */
export function fenceExpressions({ id, table, expects, nonce, over }: FenceRequest): Expressions {
  const to = new Aliases();
  const conditions =
    expects.kind === "identified" ? [to.hasAny()] : to.has(expects, table.partitionKey);
  const sets = [to.isFencedBy(id)];
  if (expects.kind === "bare" || expects.kind === "absent") {
    sets.push(to.equals(nonceAttribute, { B: nonce }));
  }
  // mutant: no-placeholder
  if (expects.kind === "absent") sets.push(to.equals(markAttribute, { BOOL: true }));
  const free = expects.kind === "absent" ? [] : [to.isFree(over)];
  return to.expressions([...conditions, ...free], `SET ${sets.join(",")}`);
}

/** An unaware put of what was read before the fence brings an identity back, but no fence. */
export function installExpressions({ id, stamp, table }: StampedInstall): Expressions {
  const to = new Aliases();
  // mutant: installs-by-identity
  return to.expressions([to.isFencedBy(id), ...to.has(stamp, table.partitionKey)]);
}

export function cleanUpExpressions({ id, removes }: CleanUpRequest): Expressions {
  const to = new Aliases();
  const isFenced = to.isFencedBy(id);
  if (removes === "fence") {
    const conditions = [isFenced, to.isMissing(markAttribute)];
    return to.expressions(conditions, `REMOVE ${to.name(fenceAttribute)}`);
  }
  const conditions = [isFenced, to.equals(markAttribute, { BOOL: true })];
  if (removes === "tombstone-fence") {
    const isTombstone = to.isThere(versionAttribute);
    return to.expressions([...conditions, isTombstone], `REMOVE ${to.name(fenceAttribute)}`);
  }
  if (removes === "item") return to.expressions(conditions);
  const names = [fenceAttribute, markAttribute].map((attribute) => to.name(attribute));
  return to.expressions(conditions, `REMOVE ${names.join(",")}`);
}

export function stampExpressions({ expects, table, nonce, over }: StampRequest): Expressions {
  const to = new Aliases();
  const conditions = [...to.has(expects, table.partitionKey), to.isFree(over)];
  return to.expressions(conditions, `SET ${to.equals(nonceAttribute, { B: nonce })}`);
}

export function localExpressions({
  table,
  change,
  condition,
  nonce,
  over,
}: LocalWrite): Expressions {
  const to = new Aliases();
  // mutant: local-blind-over-fence
  if (condition === undefined) return to.expressions([to.isFree(over)]);
  const { expects, content = {} } = condition;
  const conditions = [...to.has(expects, table.partitionKey)];
  if (expects.kind !== "absent") conditions.push(to.isFree(over));
  for (const [name, value] of Object.entries(content)) conditions.push(to.equals(name, value));
  if (change.kind !== "update") return to.expressions(conditions);
  const added = Object.keys(change.set).filter((name) => !Object.hasOwn(content, name));
  conditions.push(...added.map((name) => to.isMissing(name)));
  return to.expressions(conditions, updateOf(to, { change, nonce }));
}

function updateOf(
  to: Aliases,
  {
    change,
    nonce,
  }: { readonly change: { readonly set: Item; readonly remove: readonly string[] } } & {
    readonly nonce: Uint8Array;
  },
): string {
  const sets = Object.entries(change.set).map(([name, value]) => to.equals(name, value));
  sets.push(to.equals(nonceAttribute, { B: nonce }));
  const removes = change.remove.map((name) => to.name(name));
  const remove = removes.length === 0 ? "" : ` REMOVE ${removes.join(",")}`;
  return `SET ${sets.join(",")}${remove}`;
}
