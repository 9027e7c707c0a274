/** What nobody handled: in a user's process, the end of it. */

/**
 * The reasons of promises that rejected without a handler while `run` went on, or within 50 ms
 * after it.
 */
export async function unheardDuring(run: () => Promise<unknown>): Promise<unknown[]> {
  const unheard: unknown[] = [];
  const note = (reason: unknown): void => {
    unheard.push(reason);
  };
  // The test runner has listeners of its own, which would fail the run.
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", note);
  try {
    await run();
    await new Promise((resolve) => setTimeout(resolve, 50));
  } finally {
    process.off("unhandledRejection", note);
    for (const listener of others) process.on("unhandledRejection", listener);
  }
  return unheard;
}
