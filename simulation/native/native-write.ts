/**
 * Plain DynamoDB writes of one item, as their programs write them: the request, and whether its own
 * condition holds of what stood there. An aware writer adds a nonce, and where the write depends on
 * the old state that no fence stands (docs/adr/0014-native-operations.md, Aware native writes). So
 * does the middleware; here the rules stand a second time, so that one mistake is not made in both.
 */
import { attribute, fenceAttribute, nonceAttribute } from "../../core/attributes.ts";
import { contentOf, sameValue } from "../../core/item-content.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import type { TestTable } from "../../testing/deployment-options.ts";

/**
 * - `aware`: by the rules.
 * - `unaware`: updates, conditions and old values, without any attribute of ours. Such a one may
 *   lose a write, or meet a placeholder, while a transaction's fence stands on that very item.
 * - `blind`: puts and deletes, and nothing of ours. They need no awareness.
 */
export type NativeKind = "aware" | "unaware" | "blind";

/** What a write asks of the item's content. */
export type NativeCondition =
  | { readonly kind: "absent" }
  | { readonly kind: "present" }
  | { readonly kind: "equals"; readonly name: string; readonly value: AttributeValue }
  | { readonly kind: "at-least"; readonly name: string; readonly amount: number };

type Asks = {
  readonly condition?: NativeCondition;
  /** The answer shows what stood there. */
  readonly returnsOld?: true;
};

export type NativeWrite =
  | (Asks & {
      readonly kind: "put";
      readonly item: Item;
      /** Of a program that puts back the whole of what it has read: attributes of ours, too. */
      readonly kept?: Item;
    })
  | (Asks & { readonly kind: "delete"; readonly key: Item })
  | (Asks & {
      readonly kind: "update";
      readonly key: Item;
      readonly set?: Item;
      readonly add?: Readonly<Record<string, number>>;
    });

/** Input of the command of that name; what all three have in common, and what some have. */
export type NativeRequest = {
  readonly operation: "PutItem" | "DeleteItem" | "UpdateItem";
  readonly input: Readonly<Record<string, unknown>> & { readonly TableName: string };
};

export function holds(condition: NativeCondition, content: Item | undefined): boolean {
  switch (condition.kind) {
    case "absent":
      return content === undefined;
    case "present":
      return content !== undefined;
    case "equals": {
      const value = content === undefined ? undefined : attribute(content, condition.name);
      return value !== undefined && sameValue(value, condition.value);
    }
    case "at-least":
      return numberIn(content, condition.name) >= condition.amount;
  }
}

/** NaN where there is none. */
export function numberIn(content: Item | undefined, name: string): number {
  const value = content === undefined ? undefined : attribute(content, name);
  return value !== undefined && "N" in value ? Number(value.N) : Number.NaN;
}

export function textIn(content: Item | undefined, name: string): string | undefined {
  const value = content === undefined ? undefined : attribute(content, name);
  return value !== undefined && "S" in value ? value.S : undefined;
}

/** Without what is Tidemark's; undefined for what is hidden. */
export function contentIn(table: TestTable, stored: Item | undefined): Item | undefined {
  return contentOf(stored, keysOf(table));
}

function keysOf({ partitionKey, sortKey }: TestTable): {
  readonly partitionKey: string;
  readonly sortKey?: string;
} {
  return {
    partitionKey: partitionKey.name,
    ...(sortKey === undefined ? {} : { sortKey: sortKey.name }),
  };
}

/** Whether what it does or answers rests on what stood there. */
function isDependent({ kind, condition, returnsOld }: NativeWrite): boolean {
  return kind === "update" || condition !== undefined || returnsOld === true;
}

/**
 * @param extra attributes that it writes besides.
 * @param nonce of an aware writer.
 */
export function requestOf(
  table: TestTable,
  write: NativeWrite,
  { extra, nonce }: { readonly extra: Item; readonly nonce: Uint8Array | undefined },
): NativeRequest {
  const words = new Words();
  const own = write.condition === undefined ? [] : [conditionText(table, write.condition, words)];
  // mutant: update-over-fence
  const asksForFence = nonce !== undefined && isDependent(write);
  const conditions = asksForFence
    ? [...own, `attribute_not_exists(${words.name(fenceAttribute)})`]
    : own;
  const marks: Item = nonce === undefined ? extra : { ...extra, [nonceAttribute]: { B: nonce } };
  const what = whatOf(write, marks, words);
  const asks = {
    TableName: table.name,
    ...what.input,
    ...(conditions.length === 0
      ? {}
      : {
          ConditionExpression: conditions.join(" AND "),
          ReturnValuesOnConditionCheckFailure: "ALL_OLD",
        }),
    ...(write.returnsOld === true ? { ReturnValues: "ALL_OLD" } : {}),
  };
  return { operation: what.operation, input: { ...asks, ...words.input() } };
}

function whatOf(
  write: NativeWrite,
  marks: Item,
  words: Words,
): Pick<NativeRequest, "operation"> & { readonly input: Readonly<Record<string, unknown>> } {
  if (write.kind === "put") {
    return { operation: "PutItem", input: { Item: { ...write.kept, ...write.item, ...marks } } };
  }
  if (write.kind === "delete") return { operation: "DeleteItem", input: { Key: write.key } };
  const set = Object.entries({ ...write.set, ...marks }).map(
    ([name, value]) => `${words.name(name)} = ${words.value(value)}`,
  );
  const add = Object.entries(write.add ?? {}).map(
    ([name, amount]) => `${words.name(name)} ${words.value({ N: amount.toString() })}`,
  );
  const parts = [`SET ${set.join(", ")}`, ...(add.length === 0 ? [] : [`ADD ${add.join(", ")}`])];
  return {
    operation: "UpdateItem",
    input: { Key: write.key, UpdateExpression: parts.join(" ") },
  };
}

function conditionText(table: TestTable, condition: NativeCondition, words: Words): string {
  const key = (): string => words.name(table.partitionKey.name);
  switch (condition.kind) {
    case "absent":
      return `attribute_not_exists(${key()})`;
    case "present":
      return `attribute_exists(${key()})`;
    case "equals":
      return `${words.name(condition.name)} = ${words.value(condition.value)}`;
    case "at-least":
      return `${words.name(condition.name)} >= ${words.value({ N: condition.amount.toString() })}`;
  }
}

/** Names and values of one request's expressions. */
class Words {
  readonly #names: Record<string, string> = {};
  readonly #values: Record<string, AttributeValue> = {};
  #count = 0;

  name(name: string): string {
    const word = `#n${this.#next()}`;
    this.#names[word] = name;
    return word;
  }

  value(value: AttributeValue): string {
    const word = `:v${this.#next()}`;
    this.#values[word] = value;
    return word;
  }

  input(): Readonly<Record<string, unknown>> {
    // An empty map is refused; a name that no expression holds is, too.
    const { [0]: named } = Object.keys(this.#names);
    const { [0]: valued } = Object.keys(this.#values);
    return {
      ...(named === undefined ? {} : { ExpressionAttributeNames: this.#names }),
      ...(valued === undefined ? {} : { ExpressionAttributeValues: this.#values }),
    };
  }

  #next(): string {
    this.#count += 1;
    return this.#count.toString();
  }
}
