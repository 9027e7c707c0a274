/** The plugin of an application's own clients (docs/orms.md). */
import { markPlugged } from "../core/plugged-clients.ts";
import { answering } from "./middleware.ts";
import type { SendingClient } from "./current.ts";
import { support } from "./support.ts";

/** What `middlewareStack.use` of any client of the AWS SDK takes. */
export type CommandPlugin = {
  applyToStack(stack: {
    add(
      middleware: never,
      options: {
        readonly step: never;
        readonly priority: "high" | "low";
        readonly name: string;
        readonly override: boolean;
      },
    ): void;
  }): void;
};

/**
 * Lets transactions answer the commands of a `DynamoDBClient` or a `DynamoDBDocumentClient`, and so
 * those of every library that uses it: `client.middlewareStack.use(tidemarkPlugin())`. Within the
 * body of `db.transact` or `db.snapshot` a command reads and writes as the transaction does;
 * everywhere else, and if it neither reads nor writes items, it is DynamoDB's as before.
 * @example
 * const dynamodb = new DynamoDBClient({});
 * dynamodb.middlewareStack.use(tidemarkPlugin());
 * await db.transact(async () => {
 *   const Item = { id: { S: "ann" }, balanceCents: { N: "5" } };
 *   await dynamodb.send(new PutItemCommand({ TableName: "accounts", Item })); // Buffered.
 * });
 */
export function tidemarkPlugin(): CommandPlugin {
  const { counted, answered } = answering(support());
  return {
    applyToStack(stack) {
      markPlugged(stack);
      const place = { override: true } as const;
      stack.add(counted as never, {
        ...{ ...place, step: "initialize" as never, priority: "high" },
        name: "tidemarkCounted",
      });
      stack.add(answered as never, {
        ...{ ...place, step: "deserialize" as never, priority: "low" },
        name: "tidemarkAnswered",
      });
    },
  };
}

/**
 * Runs something outside of the transaction in whose body it is called: the commands that it sends
 * are DynamoDB's, done at once and whatever becomes of the transaction, once for each of its runs.
 * @example
 * await db.transact(async (tx) => {
 *   await tx.get(accounts, "ann");
 *   await outsideTransactions(() => dynamodb.send(new ListTablesCommand({})));
 * });
 */
export function outsideTransactions<Result>(run: () => Result): Result {
  return support().outside(run);
}

/**
 * Has a client that has the plugin do all that its first command takes: the AWS SDK reads
 * configuration files and loads parts of itself then. Sends nothing. For tests in the in-memory
 * cloud of `tidemark/testing`, whose time does not wait for files, and for whoever wants the first
 * transaction to be as fast as the others.
 * @example await warmUp(dynamodb);
 */
export function warmUp(client: SendingClient): Promise<void> {
  return support().warmUp(client);
}
