/**
 * The plugin: between the command's own form and the wire's, inside of whatever the application has
 * put around its calls. Within the serializer's step, after a document client has turned values
 * into the wire's, an input is made an aware one; the answer, and an error's item, are shown as if
 * no table were mixed. Whoever stands outside sees one call.
 *
 *     application ─ its own middleware ─ DocumentMarshall ─ [native] ─ serializer
 *        ─ retries ─ [a nonce for each try] ─ signer ─ deserializer ─ DynamoDB
 */
import { isAnswered } from "../aws/command-support.ts";
import { systemClock, systemRandom } from "../aws/system.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { nativeSupport, type FenceClearing, type NativeSupport } from "../core/native-support.ts";
import { markPlugged } from "../core/plugged-clients.ts";
import {
  aFunction,
  anObject,
  checkOptions,
  isText,
  type LooseCheck,
} from "../sdk/check-options.ts";
import type { Client } from "../sdk/client.ts";
import { KnownTables } from "./mixed-tables.ts";
import { inStock, Nonces } from "./nonces.ts";
import { operations, type NativeCall } from "./operations.ts";
import { Refusals } from "./refusals.ts";
import type { Answer } from "./wire.ts";

/** A mixed table, where the plugin is not to ask the registry for them. */
export type MixedTable = {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey?: string;
};

export type NativeOptions = {
  /**
   * Of the deployment that the tables belong to: it names the mixed ones, and brings about the
   * outcome of a transaction that is in the way of a write. It stays the application's to close.
   */
  readonly client: Client | FenceClearing;
  /** All mixed tables that are used here, with their keys. Default: what the registry says. */
  readonly tables?: readonly MixedTable[];
  /** Strong random bytes. Default: the system's. */
  readonly randomBytes?: (length: number) => Uint8Array;
};

type Args = { readonly input: object; readonly request?: { body?: unknown } };
type Next = (args: Args) => Promise<Answer<object>>;
type Context = {
  readonly commandName?: string;
  readonly endpointV2?: { readonly url: { readonly hostname: string } };
};

/** What `middlewareStack.use` of any client and command of the AWS SDK takes. */
export type NativePlugin = {
  applyToStack(stack: {
    addRelativeTo(
      middleware: never,
      options: {
        readonly name: string;
        readonly relation: "before";
        readonly toMiddleware: string;
        readonly override: boolean;
      },
    ): void;
  }): void;
};

/**
 * Makes the native operations of a `DynamoDBClient`, or of a `DynamoDBDocumentClient`, aware of
 * transactions on mixed tables: `client.middlewareStack.use(tidemarkNative({ client: db }))`.
 * @throws InvalidRequestError when neither a client nor what clears fences is given.
 * @example
 * const dynamodb = new DynamoDBClient({});
 * dynamodb.middlewareStack.use(tidemarkNative({ client: db }));
 */
export function tidemarkNative(options: NativeOptions): NativePlugin {
  const support = supportOf(options);
  const tables = new KnownTables(
    () => support.mixedTables(),
    () => systemClock.monotonicMs(),
  );
  const bytes = inStock(options.randomBytes ?? ((length) => systemRandom.bytes(length)));
  return {
    applyToStack(stack) {
      markPlugged(stack);
      const { native, eachTry } = middleware({ support, tables, bytes });
      const place = { relation: "before", override: true } as const;
      const inner = { ...place, name: "tidemarkNative", toMiddleware: "endpointV2Middleware" };
      stack.addRelativeTo(native as never, inner);
      const tries = { ...place, name: "tidemarkNativeTry", toMiddleware: "httpSigningMiddleware" };
      stack.addRelativeTo(eachTry as never, tries);
    },
  };
}

type Parts = Pick<NativeCall, "bytes"> & {
  readonly support: FenceClearing;
  readonly tables: KnownTables;
};

function middleware({ support, tables, bytes }: Parts) {
  const shared = { tables, bytes, refusals: new Refusals(support), markless: new Set<string>() };
  const underWay = new WeakMap<object, Nonces>();
  const native =
    (next: Next, context: Context): Next =>
    async (args) => {
      const operation = operations[context.commandName ?? ""];
      // A transaction may answer (client/): not wherever there is one, since that takes its plugin.
      if (operation === undefined || isAnswered(context)) return next(args);
      const loading = tables.ready();
      if (loading !== undefined) await loading;
      const nonces = new Nonces(bytes);
      underWay.set(context, nonces);
      const call: NativeCall = {
        ...shared,
        nonces,
        ask: (input) => {
          nonces.begin();
          return next({ ...args, input });
        },
        isDynamoDb: () => isDynamoDb(context.endpointV2?.url.hostname ?? ""),
      };
      return operation(args.input, call) ?? next(args);
    };
  const eachTry =
    (next: Next, context: Context): Next =>
    (args) => {
      const { request = {} } = args;
      const { body } = request;
      const nonces = underWay.get(context);
      if (nonces !== undefined && (typeof body === "string" || body instanceof Uint8Array)) {
        request.body = nonces.forTry(body);
      }
      return next(args);
    };
  return { native, eachTry };
}

const checks: Readonly<Record<string, LooseCheck>> = {
  client: anObject,
  tables: (value) =>
    Array.isArray(value) && value.every(isMixedTable)
      ? undefined
      : "a list of { name, partitionKey, sortKey? }, each a non-empty string",
  randomBytes: aFunction,
} satisfies Record<keyof NativeOptions, LooseCheck>;

/** One that is described in another way would be written as if it were not mixed. */
function isMixedTable(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { name, partitionKey, sortKey, ...others } = value as Readonly<Record<string, unknown>>;
  const isNamed =
    isText(name) && isText(partitionKey) && (sortKey === undefined || isText(sortKey));
  return isNamed && Object.keys(others).length === 0;
}

function supportOf(options: NativeOptions): NativeSupport {
  checkOptions("", options, checks);
  const { client, tables } = options;
  if ((client as unknown) === undefined) {
    throw new InvalidRequestError("client", "`client` is missing: give one of createClient's");
  }
  const full = (client as Partial<Record<typeof nativeSupport, NativeSupport>>)[nativeSupport];
  const clearing = full ?? ("clearFence" in client ? client : undefined);
  if (clearing === undefined) {
    throw new InvalidRequestError("client", "`client` must be one that createClient has made");
  }
  const mixedTables = full && (() => full.mixedTables());
  const known = tables === undefined ? mixedTables : () => Promise.resolve(tables);
  if (known === undefined) {
    throw new InvalidRequestError("tables", "name the mixed tables, or give a client of Tidemark");
  }
  return { clearFence: (at) => clearing.clearFence(at), mixedTables: known };
}

/** DynamoDB itself shows what stands in a condition's way; what else answers may not. */
function isDynamoDb(hostname: string): boolean {
  return /\.amazonaws\.com(?:\.cn)?$|\.api\.aws$/u.test(hostname);
}
