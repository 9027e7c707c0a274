/**
 * Lists and records of requests: their size is looked at before their members, and the members up
 * to the first that is wrong. A validator that goes on collects an error for each of two million
 * wrong members, and takes half a minute and a gigabyte for it.
 *
 * Members are components of docs/openapi.json (`meta({ id })`), which scripts/openapi.ts registers.
 */
import * as z from "zod";

export type Bound = {
  readonly min?: number;
  readonly max: number;
  /** Name in core/limits.ts of a bound of whole transactions: beyond it the answer is 413. */
  readonly limit?: string;
};

/** What an issue of too many members says; functions/api/http.ts makes a problem of it. */
export type LimitExceeded = {
  readonly name: string;
  readonly max: number;
  readonly actual: number;
};

export function listOf<Member extends z.ZodType>(member: Member, bound: Bound) {
  return z
    .transform((input: unknown, context): readonly z.output<Member>[] => {
      if (!Array.isArray(input)) return refuse(context, "must be an array");
      const entries = (input as readonly unknown[]).entries();
      const members: z.output<Member>[] = [];
      const fits = isWithin(context, bound, input.length);
      return fits && everyMember(context, member, entries, (_, value) => members.push(value))
        ? members
        : z.NEVER;
    })
    .meta({
      type: "array",
      items: { $ref: referenceTo(member) },
      ...(bound.min === undefined ? {} : { minItems: bound.min }),
      maxItems: bound.max,
    });
}

/** An object as a map from names to members. */
export function recordOf<Member extends z.ZodType>(member: Member, bound: Bound) {
  return z
    .transform((input: unknown, context): Readonly<Record<string, z.output<Member>>> => {
      if (typeof input !== "object" || input === null || Array.isArray(input)) {
        return refuse(context, "must be an object");
      }
      const entries = Object.entries(input);
      const members: [string, z.output<Member>][] = [];
      const fits = isWithin(context, bound, entries.length);
      return fits &&
        everyMember(context, member, entries, (name, value) => members.push([name, value]))
        ? Object.fromEntries(members)
        : z.NEVER;
    })
    .meta({
      type: "object",
      additionalProperties: { $ref: referenceTo(member) },
      ...(bound.min === undefined ? {} : { minProperties: bound.min }),
      maxProperties: bound.max,
    });
}

type Context = { issues: z.core.$ZodRawIssue[] };

function everyMember<Name extends PropertyKey, Member extends z.ZodType>(
  context: Context,
  member: Member,
  entries: Iterable<readonly [Name, unknown]>,
  take: (name: Name, value: z.output<Member>) => unknown,
): boolean {
  for (const [name, input] of entries) {
    const result = member.safeParse(input);
    if (result.success) {
      take(name, result.data);
      continue;
    }
    for (const issue of result.error.issues) {
      const { message, path } = issue;
      const params = issue.code === "custom" ? issue.params : undefined;
      context.issues.push({ code: "custom", message, path: [name, ...path], input, params });
    }
    return false;
  }
  return true;
}

function isWithin(context: Context, { min = 0, max, limit }: Bound, actual: number): boolean {
  if (actual >= min && actual <= max) return true;
  const message =
    actual > max
      ? `has ${actual.toString()} members; at most ${max.toString()} are taken`
      : `must have at least ${min.toString()}`;
  const exceeded: LimitExceeded | undefined =
    limit === undefined || actual < min ? undefined : { name: limit, max, actual };
  refuse(context, message, exceeded);
  return false;
}

function refuse(context: Context, message: string, exceeded?: LimitExceeded): never {
  context.issues.push({
    code: "custom",
    message,
    input: undefined,
    ...(exceeded === undefined ? {} : { params: { exceeded } }),
  });
  return z.NEVER;
}

function referenceTo(member: z.ZodType): string {
  return `#/components/schemas/${String(member.meta()?.id)}`;
}
