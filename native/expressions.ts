/**
 * Additions to the expressions of an application: its own text stays as it is, within parentheses
 * or beside what is added. Aliases are such as nobody else has.
 */
import { fenceAttribute, markAttribute, nonceAttribute } from "../core/attributes.ts";
import { pathsOf } from "./projection.ts";
import type { GetInput, Projected, WriteInput } from "./wire.ts";

/**
 * Only where no fence stands, and the user's own condition holds; what stands there is shown.
 * @param nonce of an update, which sets it, too.
 */
export function guarded<Input extends WriteInput>(input: Input, nonce?: Uint8Array): Input {
  const { ConditionExpression: own, ExpressionAttributeNames: names } = input;
  const inside = own === undefined ? undefined : enclosed(own);
  // DynamoDB says best what is wrong with it.
  if (own !== undefined && inside === undefined) return input;
  const fence = free("#tidemark_f", names);
  const isFree = `attribute_not_exists(${fence})`;
  const aware: WriteInput = {
    ...input,
    ConditionExpression: inside === undefined ? isFree : `${isFree} AND ${inside}`,
    ExpressionAttributeNames: { ...names, [fence]: fenceAttribute },
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
  return (nonce === undefined ? aware : settingNonce(aware, nonce)) as Input;
}

/**
 * In one pair of parentheses, and not in two, which DynamoDB refuses as redundant. Undefined: they
 * do not match, and what is added could come to stand inside of them.
 */
function enclosed(own: string): string | undefined {
  const text = own.trim();
  let depth = 0;
  let isWhole = text.startsWith("(");
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === "(") depth += 1;
    else if (text[i] === ")") depth -= 1;
    if (depth < 0) return undefined;
    if (depth === 0 && i < text.length - 1) isWhole = false;
  }
  if (depth !== 0) return undefined;
  return isWhole ? text : `(${text})`;
}

/** A clause's keyword cannot be the name of an attribute: it is a reserved word of DynamoDB's. */
const setClause = /(^|[\s)\]])SET(?=[\s#])/iu;
const addingClause = /(^|[\s)\]])(?:SET|ADD)(?=[\s#])/iu;

/**
 * An update of which this is not so makes no item where there is none, and with a nonce it would.
 * It needs none: what it takes away comes back by a write with a nonce only.
 */
export function addsSomething({ UpdateExpression: own }: WriteInput): boolean {
  // Without an expression DynamoDB makes an item, too.
  return own === undefined || addingClause.test(own);
}

function settingNonce(input: WriteInput, nonce: Uint8Array): WriteInput {
  const { UpdateExpression: own, ExpressionAttributeNames, ExpressionAttributeValues } = input;
  const name = free("#tidemark_n", ExpressionAttributeNames);
  const value = free(":tidemark_n", ExpressionAttributeValues);
  const set = `SET ${name} = ${value}`;
  let update = set;
  if (own !== undefined) {
    const hasSet = setClause.test(own);
    // No alias has a `$` in it.
    update = hasSet ? own.replace(setClause, `$1${set},`) : `${own} ${set}`;
  }
  return {
    ...input,
    UpdateExpression: update,
    ExpressionAttributeNames: { ...ExpressionAttributeNames, [name]: nonceAttribute },
    ExpressionAttributeValues: { ...ExpressionAttributeValues, [value]: { B: nonce } },
  };
}

/** Projects the mark, too, by which a placeholder is known. */
export function projectingMark<Input extends Projected>(input: Input): Input {
  const { ProjectionExpression: own } = input;
  const paths = own === undefined ? [] : pathsOf(own, input.ExpressionAttributeNames);
  if (paths.some(([top]) => top === markAttribute)) return input;
  const { ExpressionAttributeNames: names } = input;
  const mark = free("#tidemark_x", names);
  return {
    ...input,
    ProjectionExpression: own === undefined ? mark : `${own}, ${mark}`,
    ExpressionAttributeNames: { ...names, [mark]: markAttribute },
  };
}

type Page = GetInput & {
  readonly KeyConditionExpression?: string;
  readonly FilterExpression?: string;
};

/** The same of whole items. An alias that nothing uses any more would be refused. */
export function projectingAll<Input extends Projected>(input: Input): Input {
  const { ProjectionExpression: _, ExpressionAttributeNames: names = {}, ...rest } = input;
  const { KeyConditionExpression = "", FilterExpression = "" } = rest as Page;
  const used = new Set(`${KeyConditionExpression} ${FilterExpression}`.match(/#\w+/gu));
  const kept = Object.entries(names).filter(([alias]) => used.has(alias));
  const left = kept.length === 0 ? {} : { ExpressionAttributeNames: Object.fromEntries(kept) };
  return { ...rest, ...left } as Projected as Input;
}

function free(alias: string, taken: object | undefined): string {
  let found = alias;
  while (taken !== undefined && Object.hasOwn(taken, found)) found += "_";
  return found;
}
