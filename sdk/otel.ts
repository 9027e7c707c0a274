/**
 * `tidemark/otel`, an entry of its own: OpenTelemetry spans made of the client's events. Spans say
 * what was done, how long it took and how it ended; keys, values and the texts of errors are never
 * in them. Names of spans and attributes are API.
 * @module tidemark/otel
 */
import type { Attributes, Tracer } from "@opentelemetry/api";
import { trace } from "@opentelemetry/api";
import type { EngineEvent } from "../engine/types.ts";
import { CallSpans, type CallEventOf } from "./call-spans.ts";
import {
  aFunction,
  type Checks,
  checkOptions,
  isPlainObject,
  type LooseCheck,
} from "./check-options.ts";

export type OtelOptions = {
  /** Makes the spans. Default: `trace.getTracer("tidemark")`. */
  readonly tracer?: Tracer;
  /** Set on every span, such as `{ "db.namespace": "prod" }`. Default: none. */
  readonly attributes?: Attributes;
  /** Milliseconds since the epoch. Default: the tracer's clock. */
  readonly nowMs?: () => number;
};

const aTracer: LooseCheck = (value) =>
  typeof (value as Partial<Tracer> | null)?.startSpan === "function"
    ? undefined
    : "a tracer of OpenTelemetry, which has `startSpan`";

export const otelChecks = {
  tracer: aTracer,
  attributes: (value) => (isPlainObject(value) ? undefined : "an object"),
  nowMs: aFunction,
} satisfies Checks<OtelOptions>;

/**
 * A listener for `createClient({ onEvent })`. One may serve several clients. Needs the package
 * `@opentelemetry/api` beside this one: without it importing this entry fails, naming that.
 * @example
 * ```ts
 * import { createClient } from "tidemark";
 * import { otelSpans } from "tidemark/otel";
 *
 * const attributes = { "db.namespace": "prod" };
 * const db = createClient({ deployment: "prod", onEvent: otelSpans({ attributes }) });
 * ```
 * @throws InvalidRequestError naming the option.
 */
export function otelSpans(options: OtelOptions = {}): (event: EngineEvent) => void {
  checkOptions("", options, otelChecks);
  const calls = new OpenCalls(options);
  return (event) => {
    if ("call" in event) calls.hear(event);
  };
}

/** Calls that have not ended, or whose installs are under way. */
class OpenCalls {
  readonly #options: OtelOptions;
  readonly #tracer: Tracer;
  readonly #calls = new Map<number, CallSpans>();
  /** Who is certified under an id: those that share it hear of its verdict once. */
  readonly #sharing = new Map<string, Set<CallSpans>>();

  constructor(options: OtelOptions) {
    this.#options = options;
    this.#tracer = options.tracer ?? trace.getTracer("tidemark");
  }

  hear(event: Extract<EngineEvent, { readonly call: number }>): void {
    if (event.kind === "call-started") {
      this.#begin(event);
      return;
    }
    const spans = this.#calls.get(event.call);
    if (event.kind === "certified" || event.kind === "install-left") {
      for (const each of this.#sharing.get(event.transactionId) ?? []) each.shared(event);
      return;
    }
    if (spans === undefined) return;
    if (event.kind === "sent" || event.kind === "joined") this.#shares(event.transactionId, spans);
    spans.hear(event);
    if (event.kind === "attempt-aborted") this.#leave(spans);
    if (!spans.isOver) return;
    this.#leave(spans);
    this.#calls.delete(event.call);
  }

  #begin(event: CallEventOf<"call-started">): void {
    // The upkeep of BASE transactions is nobody's call.
    if (event.operation === "base" && event.step === undefined) return;
    this.#calls.set(event.call, new CallSpans(this.#tracer, this.#options, event));
  }

  #shares(transactionId: string, spans: CallSpans): void {
    const sharing = this.#sharing.get(transactionId) ?? new Set();
    this.#sharing.set(transactionId, sharing.add(spans));
    spans.ids.add(transactionId);
  }

  #leave(spans: CallSpans): void {
    for (const id of spans.ids) {
      const sharing = this.#sharing.get(id);
      sharing?.delete(spans);
      if (sharing?.size === 0) this.#sharing.delete(id);
    }
    spans.ids.clear();
  }
}
