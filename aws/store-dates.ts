/**
 * The `Date` of a client's answers, with the local times around the try that was answered: what
 * engine/log/store-clock.ts is fed with. Refusals and errors of the service are dated as well;
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

type Watcher = {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly tell: (answer: DatedAnswer) => void;
};

/** A client may serve several deployments, each of which has a clock of its own. */
const watched = new WeakMap<MiddlewareHost, Set<Watcher>>();

/**
 * Tells of each dated answer of the client from now on, until the function that this returns is
 * called. The answer is not read, and a date that was just parsed is not parsed again.
 */
export function watchStoreDates(
  client: MiddlewareHost,
  clock: Watcher["clock"],
  tell: Watcher["tell"],
): () => void {
  const watchers = watched.get(client) ?? new Set();
  if (!watched.has(client)) addMiddleware(client, watchers);
  watched.set(client, watchers);
  const watcher = { clock, tell };
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function addMiddleware(client: MiddlewareHost, watchers: ReadonlySet<Watcher>): void {
  let text: string | undefined;
  let dateMs = Number.NaN;
  const middleware =
    (next: Handler): Handler =>
    async (args) => {
      const sent = Array.from(watchers, (watcher) => {
        return { watcher, sentMs: watcher.clock.monotonicMs() };
      });
      const answered = await next(args);
      const date = dateOf(answered.response);
      if (date === undefined) return answered;
      if (date !== text) {
        text = date;
        dateMs = Date.parse(date);
      }
      if (Number.isNaN(dateMs)) return answered;
      for (const { watcher, sentMs } of sent) {
        watcher.tell({ sentMs, receivedMs: watcher.clock.monotonicMs(), dateMs });
      }
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
