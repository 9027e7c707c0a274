/** What the rights at hand do not show is not known, which is neither well nor ill. */
import { StoreError } from "../core/errors.ts";

export const denied = "denied";
export type Allowed<Value> = Value | typeof denied;

export async function ifAllowed<Value>(read: () => Promise<Value>): Promise<Allowed<Value>> {
  try {
    return await read();
  } catch (error) {
    if (isDenied(error)) return denied;
    throw error;
  }
}

export function isDenied(error: unknown): boolean {
  return error instanceof StoreError && error.code === "AccessDeniedException";
}
