/** What a request brings: its body, by any validator of the Standard Schema, and its key. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { RequestProblem } from "./problems.ts";

/** @throws RequestProblem with what is wrong, field by field. */
export async function validated<Schema extends StandardSchemaV1>(
  schema: Schema,
  value: unknown,
): Promise<StandardSchemaV1.InferOutput<Schema>> {
  const found = await schema["~standard"].validate(value);
  if (found.issues === undefined) return found.value;
  const issues = found.issues.map(({ path = [], message }) => ({
    field: path.map((step) => String(typeof step === "object" ? step.key : step)).join("."),
    message,
  }));
  const title = "The request is wrong";
  throw new RequestProblem({ status: 400, code: "invalid-request", title, issues });
}

/** @throws RequestProblem where there is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new RequestProblem({ status: 400, code: "not-json", title: "The body is no JSON" });
  }
}

/**
 * The client's key, which it sends again with the same request. A server that knows who calls puts
 * that into the key, too: two callers then never meet under one.
 * @param header as it came; undefined or null where there is none.
 * @throws RequestProblem where a write would come without one.
 */
export function idempotencyKeyOf(what: string, header: string | null | undefined): string {
  const key = header ?? "";
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return `${what}#${key}`;
  const title = "Send an Idempotency-Key of 1 to 200 characters, such as a UUID";
  throw new RequestProblem({ status: 400, code: "idempotency-key-missing", title });
}
