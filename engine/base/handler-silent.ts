/** A handler, or the body of a step, has not settled for too long. Not part of the public API. */
export class HandlerSilentError extends Error {
  override readonly name = "HandlerSilentError";

  constructor(handler: string, limitMs: number, step: string | undefined) {
    const where = step === undefined ? "outside of its steps" : `in its step "${step}"`;
    super(
      `the handler "${handler}" has been silent for ${limitMs} ms ${where}, which is its limit ` +
        "`silentMsMax`: this run of it is over, and another one goes on. Give what it calls " +
        "a time limit of its own, or `defineBase` a longer one",
    );
  }
}
