/**
 * The steps of a call at which a transaction comes in. The innermost one answers in DynamoDB's
 * place, so that inputs are serialized and outputs read, and errors made, by the application's own
 * AWS SDK, whatever stands around its calls:
 *
 *     [counted] ─ application's middleware ─ DocumentMarshall ─ serializer ─ retries ─ signer
 *        ─ deserializer ─ [answered] ─ DynamoDB
 */
import { markAnswered } from "../aws/command-support.ts";
import type { Answer } from "../commands/answer.ts";
import type { CurrentCommands, Support } from "./current.ts";
import { outputResponse, refusalResponse } from "./wire.ts";

type Args = { readonly input: object };
type Next = (args: Args) => Promise<object>;
type Context = { readonly commandName?: string };
type Middleware = (next: Next, context: Context) => Next;

/** What becomes of a command that reads and writes no items. Default: it passes. */
type Others = (command: string) => never;

export function answering(
  support: Pick<Support, "current" | "outside">,
  others?: Others,
): { readonly counted: Middleware; readonly answered: Middleware } {
  /**
   * In which transaction a call was sent. Asked for once: a middleware that lets calls wait may go
   * on with them in another one's context, or in none.
   */
  const sentIn = new WeakMap<Context, { readonly current: CurrentCommands | undefined }>();
  /** Calls whose last answer was a refusal of DynamoDB's. */
  const refused = new WeakSet<Context>();
  return {
    counted: (next, context) => async (args) => {
      const current = support.current();
      sentIn.set(context, { current });
      if (current === undefined) return next(args);
      markAnswered(context);
      return current.during(async () => {
        try {
          return await next(args);
        } catch (error) {
          // Of the AWS SDK or of what stands around its calls, such as missing credentials: whoever
          // swallows that, and takes it for a missing row, must not commit.
          if (!refused.has(context)) current.fail(context.commandName ?? "", error);
          throw error;
        }
      });
    },
    answered: (next, context) => async (args) => {
      const { current } = sentIn.get(context) ?? { current: support.current() };
      if (current === undefined) return next(args);
      const { commandName: command = "" } = context;
      const asked = current.answer(command, args.input);
      if (asked === undefined) {
        others?.(command);
        return support.outside(() => next(args));
      }
      refused.delete(context);
      const answer = await answerOf(asked);
      if ("output" in answer) return { response: outputResponse(answer.output) };
      refused.add(context);
      return { response: refusalResponse(answer.refusal) };
    },
  };
}

async function answerOf(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    throw standIn(error);
  }
}

/**
 * The same error, to whoever looks at it. But the AWS SDK repeats a call by what its error was
 * caused by, and writes on errors; and the transaction fails with this one.
 */
function standIn(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return Object.create(error, {
    cause: { value: undefined },
    message: { value: error.message, configurable: true, writable: true },
    stack: { value: error.stack, configurable: true, writable: true },
  });
}
