/**
 * A handler of a BASE transaction is over when its steps are. One that forgets an `await` would
 * otherwise end, or refuse, beside a step that is committed all the same.
 */
import { InvalidRequestError } from "../core/errors.ts";
import type { BaseSteps } from "./base-definition.ts";

/**
 * Runs the handler, and waits for steps that it has left under way.
 * @throws what the handler throws; InvalidRequestError where it returns before its last step has.
 */
export async function awaitingSteps<Result>(
  base: BaseSteps,
  handler: (base: BaseSteps) => Promise<Result>,
): Promise<Result> {
  const underWay = new Map<Promise<unknown>, string>();
  let isOver = false;
  const step: BaseSteps["step"] = (name, body) => {
    if (isOver) return Promise.reject(lateStep(name));
    const made = base.step(name, body).finally(() => underWay.delete(made));
    underWay.set(made, name);
    // Also where nobody waits for it: the handler's own error says so.
    made.catch(ignore);
    return made;
  };
  try {
    const result = await handler({ ...base, step });
    for (const name of underWay.values()) throw lateStep(name);
    return result;
  } finally {
    isOver = true;
    await Promise.allSettled(underWay.keys());
  }
}

function lateStep(name: string): InvalidRequestError {
  return new InvalidRequestError(
    "step",
    `the handler ended before its step "${name}" had: \`await\` each step`,
  );
}

function ignore(): void {
  // Told elsewhere.
}
