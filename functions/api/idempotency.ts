/**
 * `Idempotency-Key`: the first answer is recorded in the same commit, with a hash of the request
 * that it answered, so that a repeat is told from another request that reuses the key.
 */
import { createHash } from "node:crypto";
import type { AttributeValue } from "../../core/types.ts";
import type { ResultCodec } from "../../engine/types.ts";
import type { ReadsAnswer } from "../../schemas/rest/answers.ts";
import { idempotencyKeyHeader } from "../../schemas/rest/routes.ts";
import { ApiProblem } from "./problem.ts";
import type { WrittenAnswer } from "./run.ts";

/** What a repeat gets, and whose request it was. */
export type Recorded = {
  readonly requestHash: string;
  readonly reads: ReadsAnswer | undefined;
  readonly written: WrittenAnswer;
};

/** The engine's keys are shared with the SDK's users; the prefix keeps the two apart. */
export function engineKeyOf(idempotencyKey: string | undefined): string | undefined {
  return idempotencyKey === undefined ? undefined : `rest:${idempotencyKey}`;
}

/**
 * Of what is asked for. An interactive commit's token is left out: it says where the transaction
 * stands, and a caller that begins again with the same writes asks for the same thing.
 */
export function hashRequest(operation: "transact" | "commit", request: object): string {
  const asked = Object.entries(request).filter(([name]) => name !== "transaction");
  return createHash("sha256")
    .update(`${operation}\n${canonicalJson(Object.fromEntries(asked))}`)
    .digest("hex");
}

/** @throws ApiProblem `idempotency-key-reused` */
export function requireSameRequest(recorded: Recorded, requestHash: string): void {
  if (recorded.requestHash === requestHash) return;
  throw new ApiProblem(
    "idempotency-key-reused",
    "an earlier request with this Idempotency-Key asked for something else; use a new key for " +
      "each request",
    { field: idempotencyKeyHeader },
  );
}

export const recordedCodec: ResultCodec<Recorded> = {
  encode: ({ requestHash, reads, written }) => ({
    M: { requestHash: { S: requestHash }, answer: { S: JSON.stringify({ reads, written }) } },
  }),
  decode: (value) => {
    const requestHash = textOf(value, "requestHash");
    const answer = textOf(value, "answer");
    if (requestHash === undefined || answer === undefined) {
      // Not recorded by this service, so certainly for another request.
      return { requestHash: "", reads: undefined, written: undefined };
    }
    const { reads, written } = JSON.parse(answer) as Pick<Recorded, "reads" | "written">;
    return { requestHash, reads, written };
  },
};

function textOf(value: AttributeValue, name: string): string | undefined {
  const member = "M" in value ? value.M[name] : undefined;
  return member !== undefined && "S" in member ? member.S : undefined;
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
