/**
 * For each command that is sent, the AWS SDK copies the middleware of client and command into one
 * list and sorts it anew: a quarter of what the call takes of its process's time. What a client
 * runs that was built here does not change from call to call, so its order is found out once for
 * each kind of command. All else is the SDK's: each command goes by the client's `send`, and each
 * call is put together anew, in a context and with options of its own.
 *
 * A ready-made client is its application's, and its commands go the SDK's own way.
 */
import { assert } from "../core/assert.ts";
import type { Handler, MiddlewareHost } from "./middleware.ts";

type Middleware = (next: Handler, context: object) => Handler;
type Relation = "before" | "after";
type Placed = { readonly middleware?: unknown; readonly relation: Relation };
type Add = (middleware: Middleware, place: Placed) => void;

/** As much of the SDK's stacks as is of use here. */
type Stack = {
  add: Add;
  addRelativeTo: Add;
  remove: (middleware: never) => unknown;
  removeByTag: (tag: never) => unknown;
  readonly applyToStack: (to: Pick<Stack, "add" | "addRelativeTo">) => void;
  readonly concat: (commands: unknown) => Stack;
  readonly resolve: (handler: Handler, context: object) => Handler;
};
type Client = { readonly config: object; readonly middlewareStack: Stack };
type Command = {
  middlewareStack: object;
  resolveMiddleware(stack: object, config: object, options: object): Handler;
};
type Kind = new (input: object) => Command & MiddlewareHost;

/** The middleware of a kind of command. */
type Order = {
  /** From the first to the last. */
  readonly middleware: readonly Middleware[];
  /** The SDK's stack of it, without it: who watches calls by what stacks resolve to sees them. */
  readonly emptied: Stack;
};

const known = new WeakMap<object, Map<Kind, Order>>();

/** Where a command's own middleware goes: next to the signer (`MiddlewareHost`). */
const places: Readonly<Record<Relation, Middleware>> = {
  before: (next) => next,
  after: (next) => next,
};

/** Only for a client whose stack nobody sets aside; what changes in it later is seen. */
export function rememberOrder(client: object): void {
  const orders = new Map<Kind, Order>();
  known.set(client, orders);
  const { middlewareStack } = client as Client;
  for (const name of ["add", "addRelativeTo", "remove", "removeByTag"] as const) {
    const change = middlewareStack[name] as (...args: readonly unknown[]) => never;
    middlewareStack[name] = (...args: readonly unknown[]): never => {
      orders.clear();
      return change(...args);
    };
  }
}

/** The command, which that client, and no other one, is about to send. */
export function inKnownOrder<Sent extends MiddlewareHost>(client: object, sent: Sent): Sent {
  const orders = known.get(client);
  if (orders === undefined) return sent;
  const command = sent as unknown as Command;
  const kind = command.constructor as Kind;
  const order = orders.get(kind) ?? orderOf(client as Client, kind);
  orders.set(kind, order);
  const { middleware: all, emptied } = order;
  const own = new Map<Middleware, Middleware>();
  /** In the place of the command's stack and of the client's. */
  const stack = {
    use: () => undefined,
    addRelativeTo: (middleware: Middleware, { relation }: Placed) => {
      assert(!own.has(places[relation]), "one middleware a side");
      own.set(places[relation], middleware);
    },
    concat: () => stack,
    resolve: (handler: Handler, context: object) => {
      const run = (next: Handler, each: Middleware) => (own.get(each) ?? each)(next, context);
      return emptied.resolve(all.reduceRight(run, handler), context);
    },
  };
  command.middlewareStack = stack;
  command.resolveMiddleware = (_, config, options) =>
    (kind.prototype as Command).resolveMiddleware.call(command, stack, config, options);
  return sent;
}

/** As the SDK puts them: each is replaced by one that says when its turn comes. */
function orderOf({ config, middlewareStack }: Client, kind: Kind): Order {
  const order: Middleware[] = [];
  let whole: Stack = middlewareStack;
  const command = new kind({});
  for (const relation of ["before", "after"] as const) {
    command.middlewareStack.addRelativeTo(places[relation] as never, {
      name: `tidemark-${relation}`,
      relation,
      toMiddleware: "httpSigningMiddleware",
    });
  }
  const concat = (commands: unknown): Stack => {
    const told = new kind({}).middlewareStack as unknown as Stack;
    const by =
      (name: "add" | "addRelativeTo"): Add =>
      (middleware, { middleware: _, ...place }) => {
        told[name]((next) => {
          order.unshift(middleware);
          return next;
        }, place);
      };
    whole = middlewareStack.concat(commands);
    whole.applyToStack({ add: by("add"), addRelativeTo: by("addRelativeTo") });
    return told;
  };
  command.resolveMiddleware({ ...middlewareStack, concat }, config, {});
  for (const middleware of order) whole.remove(middleware as never);
  return { middleware: order, emptied: whole };
}
