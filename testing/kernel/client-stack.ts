/**
 * The middleware stack of a simulated AWS client, as far as a plugin for all of its commands needs
 * one: what stands around the serializer, what stands in each try before the signer, and what a
 * step of the SDK's is given (aws-clients.ts).
 */
import { NotModelledError } from "../cloud/not-modelled.ts";

export type Handler = (args: object) => Promise<object>;
export type Middleware = (next: Handler, context: object) => Handler;

/** Into which of the SDK's steps a middleware goes, and where there. */
export type Place = { readonly name: string; readonly step: "finalizeRequest" | "deserialize" };

/** What its user has added to a client, for all of its commands. */
export type AddedMiddleware = { readonly middleware: Middleware; readonly place: Place };

type Relative = { readonly name: string; readonly toMiddleware: string };
type Plugin = { applyToStack(stack: never): void };

/** Before them a plugin may stand: within the serializer's step, and in each try. */
const places = ["endpointV2Middleware", "httpSigningMiddleware"] as const;
type Known = (typeof places)[number];

export class ClientStack {
  readonly #steps = new Map<string, AddedMiddleware>();
  readonly #relative: Readonly<Record<Known, Map<string, Middleware>>> = {
    endpointV2Middleware: new Map(),
    httpSigningMiddleware: new Map(),
  };

  use(plugin: Plugin): void {
    plugin.applyToStack(this as never);
  }

  add(middleware: Middleware, place: Place): void {
    this.#steps.set(place.name, { middleware, place });
  }

  /** @throws NotModelledError for a place that the simulated client has not. */
  addRelativeTo(middleware: Middleware, { name, toMiddleware }: Relative): void {
    const known = places.find((place) => place === toMiddleware);
    if (known === undefined) throw new NotModelledError(`a middleware before ${toMiddleware}`);
    this.#relative[known].set(name, middleware);
  }

  get isPlugged(): boolean {
    return places.some((place) => this.#relative[place].size > 0);
  }

  get steps(): readonly AddedMiddleware[] {
    return [...this.#steps.values()];
  }

  /** What is sent once, whatever the tries. */
  around(send: Handler, context: object): Handler {
    return resolved(this.#relative.endpointV2Middleware, send, context);
  }

  /** One try, with what stands before its signature. */
  eachTry(send: (input: object) => Promise<object>, context: object): Handler {
    return resolved(
      this.#relative.httpSigningMiddleware,
      ({ request }: { readonly request?: { readonly body: string } }) =>
        send(JSON.parse(request?.body ?? "{}", fromWire) as object),
      context,
    );
  }
}

/** The form in which a try is told of its input. */
export function requestOf(input: object): { readonly request: { readonly body: string } } {
  return { request: { body: JSON.stringify(input, toWire) } };
}

function resolved(
  middlewares: ReadonlyMap<string, Middleware>,
  send: Handler,
  context: object,
): Handler {
  return [...middlewares.values()].reduce((next, middleware) => middleware(next, context), send);
}

/** Bytes as base64, as the SDK's serializer has them. A `Buffer` would make itself an object. */
function toWire(this: unknown, name: string, value: unknown): unknown {
  const own = (this as Readonly<Record<string, unknown>>)[name];
  return own instanceof Uint8Array ? Buffer.from(own).toString("base64") : value;
}

/** An attribute that is named so has an object as its value, and none of these. */
function fromWire(name: string, value: unknown): unknown {
  if (name === "B" && typeof value === "string") return bytesOf(value);
  if (name !== "BS" || !Array.isArray(value)) return value;
  return value.map((each: unknown) => (typeof each === "string" ? bytesOf(each) : each));
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}
