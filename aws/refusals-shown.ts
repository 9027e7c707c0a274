/**
 * Stores that know less than DynamoDB do not tell with a refused condition what stands there
 * (dynalite), or take the question for a mistake. It is learnt once for each client.
 */
import { StoreError } from "../core/errors.ts";

const shown = new WeakSet();
const untold = new WeakSet();

/** Makes the call, which asks for what stands in its way unless the store is known not to tell. */
export async function askingForShown<Answer>(
  client: object,
  call: (asks: { readonly ReturnValuesOnConditionCheckFailure?: "ALL_OLD" }) => Promise<Answer>,
): Promise<Answer> {
  if (untold.has(client)) return call({});
  try {
    return await call({ ReturnValuesOnConditionCheckFailure: "ALL_OLD" });
  } catch (error) {
    if (!isNotUnderstood(error)) throw error;
    const answer = await call({});
    untold.add(client);
    return answer;
  }
}

/** A refusal has come with the item, or without it though there is one. */
export function learnShown(client: object, isShown: boolean): void {
  (isShown ? shown : untold).add(client);
}

/** Whether a refusal without an item says that there is none. */
export function showsItems(client: object): boolean {
  return shown.has(client) && !untold.has(client);
}

function isNotUnderstood(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  return error.code === "ValidationException" || error.code === "SerializationException";
}
