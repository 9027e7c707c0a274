/**
 * The spans of one call: its own, one for each attempt below it, and one for each phase of an
 * attempt: body, certify, install.
 */
import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { EngineEvent } from "../engine/types.ts";

export type CallEventOf<Kind extends EngineEvent["kind"]> = Extract<
  EngineEvent,
  { readonly kind: Kind; readonly call: number }
>;
type OwnEvent = Exclude<
  Extract<EngineEvent, { readonly call: number }>,
  { readonly kind: "call-started" | "certified" | "install-left" }
>;

/** Of every span. */
export type SpanSettings = {
  readonly attributes?: Attributes;
  readonly nowMs?: () => number;
};

type Open = { readonly span: Span; readonly context: Context };

export class CallSpans {
  /** Under which it is certified, or was asked to be. */
  readonly ids = new Set<string>();
  readonly #tracer: Tracer;
  readonly #options: SpanSettings;
  readonly #call: Open;
  #attempt: Open | undefined;
  #phase: Span | undefined;
  #install: Span | undefined;
  #hasEnded = false;

  /** Below the span that is active now. */
  constructor(
    tracer: Tracer,
    options: SpanSettings,
    { operation, isolation, step }: CallEventOf<"call-started">,
  ) {
    this.#tracer = tracer;
    this.#options = options;
    const name = operation === "base" ? "step" : operation;
    const attributes = {
      "db.system.name": "aws.dynamodb",
      "db.operation.name": name,
      "tidemark.isolation": isolation,
      ...(step === undefined
        ? {}
        : { "tidemark.base.id": step.base, "tidemark.base.step": step.name }),
    };
    this.#call = this.#open(name, context.active(), { attributes, kind: SpanKind.CLIENT });
  }

  /** Nothing more will be told of it. */
  get isOver(): boolean {
    return this.#hasEnded && this.#install === undefined;
  }

  hear(event: OwnEvent): void {
    switch (event.kind) {
      case "attempt-started":
        this.#attempt = this.#open("attempt", this.#call.context, {
          attributes: { "tidemark.attempt": event.attempt },
        });
        this.#begin("body");
        return;
      case "body-ended":
        this.#phase?.setAttributes({ "tidemark.reads": event.reads });
        this.#phase?.setAttributes({ "tidemark.writes": event.writes });
        this.#endPhase();
        if (event.writes > 0) this.#begin("certify");
        return;
      case "sent":
        this.#note("tidemark.sent", { "tidemark.via": event.via, "tidemark.resend": event.resend });
        this.#named(event.transactionId);
        return;
      case "joined":
        this.#note("tidemark.joined", { "tidemark.place": event.place });
        this.#named(event.transactionId);
        return;
      case "attempt-aborted":
        this.#abort(event);
        return;
      case "unknown":
        this.#named(event.transactionId);
        this.#call.span.setAttribute("tidemark.outcome", "unknown");
        this.#endAttempt("commit-unknown");
        return;
      case "installed":
        this.#install?.setAttribute("tidemark.whole", event.whole);
        this.#end(this.#install);
        this.#install = undefined;
        return;
      case "committed":
        this.#committed(event);
        return;
      case "call-failed":
        this.#failed(event.error);
    }
  }

  /** What is told once to all that are certified as one. */
  shared(event: CallEventOf<"certified"> | CallEventOf<"install-left">): void {
    if (event.kind === "install-left") {
      this.#install?.addEvent("tidemark.install_left", { "error.type": typeOf(event.cause) });
      return;
    }
    if (this.#hasEnded || this.#install !== undefined) return;
    this.#phase?.setAttribute("tidemark.via", event.via);
    this.#endPhase();
    if (this.#attempt === undefined) return;
    this.#install = this.#open("install", this.#attempt.context, {}).span;
  }

  #open(
    name: string,
    parent: Context,
    options: { readonly attributes?: Attributes; readonly kind?: SpanKind },
  ): Open {
    const startTime = this.#options.nowMs?.();
    const span = this.#tracer.startSpan(
      `tidemark.${name}`,
      {
        ...options,
        attributes: { ...this.#options.attributes, ...options.attributes },
        ...(startTime === undefined ? {} : { startTime }),
      },
      parent,
    );
    return { span, context: trace.setSpan(parent, span) };
  }

  #begin(phase: "body" | "certify"): void {
    if (this.#attempt === undefined) return;
    this.#phase = this.#open(phase, this.#attempt.context, {}).span;
  }

  #note(name: string, attributes: Attributes): void {
    this.#phase?.addEvent(name, attributes, this.#options.nowMs?.());
  }

  #named(transactionId: string): void {
    this.#attempt?.span.setAttribute("tidemark.transaction.id", transactionId);
  }

  #abort({ reason, detail, early }: CallEventOf<"attempt-aborted">): void {
    this.#attempt?.span.setAttribute("tidemark.early", early);
    if (detail !== undefined) {
      this.#attempt?.span.setAttribute("tidemark.conflict.on", detail.on);
      if (detail.table !== undefined) {
        this.#attempt?.span.setAttribute("tidemark.conflict.table", detail.table);
      }
    }
    this.#endAttempt(reason);
  }

  #committed({ receipt }: CallEventOf<"committed">): void {
    const { transactionId, commitTimestamp, attempts, consumed } = receipt;
    const isCommit = transactionId !== undefined && !receipt.replayed;
    this.#call.span.setAttributes({
      "tidemark.outcome": receipt.replayed ? "replayed" : isCommit ? "committed" : "read-only",
      "tidemark.attempts": attempts,
      "tidemark.read_units": consumed.readUnits,
      "tidemark.write_units": consumed.writeUnits,
      "tidemark.calls": consumed.calls,
      ...(transactionId === undefined ? {} : { "tidemark.transaction.id": transactionId }),
      ...(commitTimestamp === undefined ? {} : { "tidemark.commit_timestamp": commitTimestamp }),
    });
    this.#endAttempt();
    this.#endCall();
  }

  #failed(error: unknown): void {
    const type = typeOf(error);
    const { span } = this.#call;
    const { outcome } = (error ?? {}) as { readonly outcome?: unknown };
    span.setAttribute("error.type", type);
    if (outcome !== "unknown") span.setAttribute("tidemark.outcome", "aborted");
    span.setStatus({ code: SpanStatusCode.ERROR });
    this.#endAttempt(type);
    this.#end(this.#install);
    this.#install = undefined;
    this.#endCall();
  }

  #endPhase(): void {
    this.#end(this.#phase);
    this.#phase = undefined;
  }

  /** An install that nobody waits for goes on. */
  #endAttempt(errorType?: string): void {
    this.#endPhase();
    if (errorType !== undefined) {
      this.#attempt?.span.setAttribute("error.type", errorType);
      this.#attempt?.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#end(this.#attempt?.span);
    this.#attempt = undefined;
  }

  #endCall(): void {
    this.#hasEnded = true;
    this.#end(this.#call.span);
  }

  #end(span: Span | undefined): void {
    span?.end(this.#options.nowMs?.());
  }
}

/** Its code or its class: what it says may hold what an item holds. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return "_OTHER";
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : error.name;
}
