/**
 * One call through the AWS SDK, with the two things that the SDK does not do for us.
 *
 * 1. *Honest faults.* The SDK repeats calls by itself. When a first try timed out after its effect
 *    and the second is throttled, the SDK reports "throttled", which would claim that nothing
 *    happened. A middleware inside the retry loop sees every try; once one ended unclear, the
 *    call's fault is `unavailable` at best.
 * 2. *No late signature.* An install must not be signed after its deadline (docs/protocol.md §7: a
 *    signature lives five minutes, and the reaper counts on that). The same middleware stands after
 *    the signer and looks at the clock when the signature exists; too late, and the request is
 *    dropped before a byte is sent. Every retry signs, and is checked, anew.
 */
import type { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import type { Clock, CallOptions } from "../core/ports.ts";
import { LateSignatureError } from "../core/errors.ts";
import { faultOf, isNamed, toStoreError } from "./errors.ts";
import type { Handler, MiddlewareHost } from "./middleware.ts";

/** The wall-clock time after which a request must not be signed. */
export type SignDeadline = { readonly clock: Clock; readonly beforeMs: number };

export type Call<Output> = {
  /** The operation's name, for messages. */
  readonly operation: string;
  readonly command: MiddlewareHost;
  readonly send: (httpOptions: { abortSignal?: AbortSignal }) => Promise<Output>;
  readonly options: CallOptions | undefined;
  readonly signDeadline?: SignDeadline | undefined;
};

/** What a conditional write came to. */
export type Conditional<Output> =
  | { readonly kind: "done"; readonly output: Output }
  /** `error.Item`: what stands there, if the call asked for it and the store knows the question. */
  | { readonly kind: "condition-failed"; readonly error: Refused };

type Refused = Pick<ConditionalCheckFailedException, "Item">;

type Watch = { unclear: boolean };

function watchTries(command: MiddlewareHost, deadline: SignDeadline | undefined): Watch {
  const watch: Watch = { unclear: false };
  const middleware =
    (next: Handler): Handler =>
    async (args) => {
      // mutant: install-signed-late
      if (deadline !== undefined && deadline.clock.nowMs() >= deadline.beforeMs) {
        throw new LateSignatureError();
      }
      try {
        return await next(args);
      } catch (error) {
        if (faultOf(error) === "unavailable") watch.unclear = true;
        throw error;
      }
    };
  command.middlewareStack.addRelativeTo(middleware as never, {
    name: "tidemarkTries",
    relation: "after",
    toMiddleware: "httpSigningMiddleware",
  });
  return watch;
}

function httpOptions(options: CallOptions | undefined): { abortSignal?: AbortSignal } {
  return options?.signal === undefined ? {} : { abortSignal: options.signal };
}

/**
 * A call that reads. Nothing is lost when its outcome is unclear, so its tries are not watched.
 * @throws StoreError, or the signal's reason once it is aborted.
 */
export async function callRead<Output>(call: Omit<Call<Output>, "command">): Promise<Output> {
  call.options?.signal?.throwIfAborted();
  try {
    return await call.send(httpOptions(call.options));
  } catch (error) {
    call.options?.signal?.throwIfAborted();
    throw toStoreError(call.operation, error, false);
  }
}

/**
 * A call with an effect. `condition-failed` may follow an own earlier try that succeeded and whose
 * answer was lost: the condition says only that it does not hold now.
 * @throws StoreError, or the signal's reason once it is aborted (the effect is then unknown).
 */
export async function callWrite<Output>(call: Call<Output>): Promise<Conditional<Output>> {
  call.options?.signal?.throwIfAborted();
  const watch = watchTries(call.command, call.signDeadline);
  try {
    return { kind: "done", output: await call.send(httpOptions(call.options)) };
  } catch (error) {
    call.options?.signal?.throwIfAborted();
    if (isNamed(error, "ConditionalCheckFailedException")) {
      return { kind: "condition-failed", error: error as Refused };
    }
    throw toStoreError(call.operation, error, watch.unclear);
  }
}
