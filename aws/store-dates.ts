/**
 * The `Date` of a client's answers, with the local times around the try that was answered: what
 * engine/express/store-clock.ts is fed with. Refusals and errors of the service are dated as well;
 * of repeated tries each is told by itself, since the middleware stands below the retry loop.
 */
import type { Clock, DatedAnswer } from "../core/ports.ts";

type Answered = { readonly response?: unknown };
type Handler = (args: object) => Promise<Answered>;

/** What any AWS SDK client offers to middleware, as far as it is needed here (aws/call.ts). */
type MiddlewareHost = {
  readonly middlewareStack: {
    add(
      middleware: never,
      options: {
        readonly name: string;
        readonly step: "deserialize";
        readonly priority: "low";
        readonly override: true;
      },
    ): void;
  };
};

/**
 * Tells of each dated answer of the client from now on. The answer is not read, and a date that was
 * just parsed is not parsed again.
 */
export function watchStoreDates(
  client: MiddlewareHost,
  clock: Pick<Clock, "monotonicMs">,
  tell: (answer: DatedAnswer) => void,
): void {
  let text: string | undefined;
  let dateMs = Number.NaN;
  const middleware =
    (next: Handler): Handler =>
    async (args) => {
      const sentMs = clock.monotonicMs();
      const answered = await next(args);
      const receivedMs = clock.monotonicMs();
      const date = dateOf(answered.response);
      if (date === undefined) return answered;
      if (date !== text) {
        text = date;
        dateMs = Date.parse(date);
      }
      if (!Number.isNaN(dateMs)) tell({ sentMs, receivedMs, dateMs });
      return answered;
    };
  client.middlewareStack.add(middleware as never, {
    name: "tidemarkStoreDates",
    step: "deserialize",
    priority: "low",
    override: true,
  });
}

function dateOf(response: unknown): string | undefined {
  const { headers } = (response ?? {}) as { headers?: Readonly<Record<string, string>> };
  return headers?.["date"];
}
