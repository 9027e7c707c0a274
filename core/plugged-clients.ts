/**
 * AWS clients with a plugin (native/, client/), and those by which Tidemark makes its own calls:
 * none may be both. By symbols of the whole process, since an application may have loaded the
 * package twice, as ES modules and as CommonJS.
 */
import { InvalidRequestError } from "./errors.ts";

const plugged = Symbol.for("tidemark.native-plugin");
const owned = Symbol.for("tidemark.own-calls");

type Marked = { [plugged]?: boolean; [owned]?: boolean };

type AwsClient = { readonly middlewareStack?: object };

/**
 * Of an AWS client's stack: a plugin goes into it.
 * @throws InvalidRequestError for a client by which Tidemark makes its own calls.
 */
export function markPlugged(stack: object): void {
  const marked = stack as Marked;
  if (marked[owned] === true) {
    throw new InvalidRequestError(
      "client",
      "Tidemark makes its own calls by this DynamoDBClient; give the plugin to another one",
    );
  }
  marked[plugged] = true;
}

/**
 * Tidemark's own calls see what really stands in the tables: no plugin may be in between.
 * @throws InvalidRequestError
 */
export function refusePlugged(client: AwsClient): void {
  if ((client.middlewareStack as Marked | undefined)?.[plugged] !== true) return;
  throw new InvalidRequestError(
    "dynamodb",
    "the DynamoDBClient has a plugin of tidemark/native or tidemark/client: give Tidemark one " +
      "without",
  );
}

/** Tidemark makes its own calls by this client: a plugin refuses it from now on. */
export function markOwned({ middlewareStack }: AwsClient): void {
  if (middlewareStack !== undefined) (middlewareStack as Marked)[owned] = true;
}
