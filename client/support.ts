/**
 * Which transaction a command belongs to: that of the body in which it was sent, known by Node's
 * `AsyncLocalStorage`, or one that is named.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { answerCommand } from "../commands/answer.ts";
import { operations } from "../commands/operations.ts";
import { TransactionCommands, type CommandTransaction } from "../commands/transaction-commands.ts";
import { offerCommands, type Answering, type CommandScope } from "../aws/command-support.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { anyCommand, offlineClient, type OfflineClient } from "../aws/offline-client.ts";
import type { CurrentCommands, SendingClient, Support } from "./current.ts";
import { answering } from "./middleware.ts";

function isCommand(given: unknown): boolean {
  const { resolveMiddleware } = (given ?? {}) as { readonly resolveMiddleware?: unknown };
  return typeof resolveMiddleware === "function";
}

function isClient(given: unknown): boolean {
  const { send, middlewareStack } = (given ?? {}) as Readonly<Record<string, unknown>>;
  return typeof send === "function" && typeof middlewareStack === "object";
}

class LocalSupport implements Support {
  readonly #storage = new AsyncLocalStorage<CurrentCommands | undefined>();
  readonly #known = new WeakMap<object, CurrentCommands>();
  #client: Promise<OfflineClient> | undefined;

  scope<Transaction extends object>(by: Answering<Transaction>): CommandScope<Transaction> {
    const own = by.transaction as unknown as CommandTransaction;
    const transaction = outsideOf(own, (run) => this.outside(run));
    const commands = new TransactionCommands(own, by.mayWrite);
    const current: CurrentCommands = {
      answer: (command, input) => this.outside(() => answerCommand(commands, command, input)),
      fail: (command, error) => {
        if (operations.has(command)) transaction.doom(error);
      },
      during: (run) => commands.during(run),
    };
    this.#known.set(transaction, current);
    return {
      transaction: transaction as unknown as Transaction,
      run: async (body) => {
        const result = await this.#storage.run(current, body);
        if (!commands.isAtWork) return result;
        commands.abandon();
        throw new InvalidRequestError(
          "body",
          "the body returned while a command was under way; is an `await` missing?",
        );
      },
    };
  }

  async send(transaction: object, command: object): Promise<unknown> {
    const current = this.#known.get(transaction);
    if (current === undefined) {
      throw new InvalidRequestError(
        "send",
        "call `tidemarkPlugin()` of tidemark/client before the transaction begins",
      );
    }
    if (!isCommand(command)) {
      throw new InvalidRequestError(
        "command",
        "`send` takes a command of the AWS SDK, such as `new GetCommand({ … })`",
      );
    }
    return current.during(async () => {
      const client = await this.#offline();
      return this.#storage.run(current, () => client.send(command));
    });
  }

  async warmUp(client: SendingClient): Promise<void> {
    if (!isClient(client)) {
      throw new InvalidRequestError(
        "client",
        "`warmUp` takes a client of the AWS SDK, such as a `DynamoDBDocumentClient`",
      );
    }
    const nothing: CurrentCommands = {
      answer: () => Promise.resolve({ output: {} }),
      fail: () => undefined,
      during: (run) => run(),
    };
    for (const each of [await this.#offline(), client]) {
      await this.#storage.run(nothing, async () => each.send((await anyCommand()) as never));
    }
  }

  #offline(): Promise<OfflineClient> {
    return (this.#client ??= offlineClient(answering(this, refuseOthers)));
  }

  current(): CurrentCommands | undefined {
    return this.#storage.getStore();
  }

  outside<Result>(run: () => Result): Result {
    return this.#storage.run(undefined, run);
  }
}

/**
 * The transaction as its body has it. What the engine does for it, listeners to its events
 * included, is none of the body's own.
 */
function outsideOf(
  transaction: CommandTransaction & { rollback?(): void },
  outside: <Result>(run: () => Result) => Result,
): CommandTransaction & { rollback(): void } {
  return {
    get readTimestamp() {
      return transaction.readTimestamp;
    },
    describe: (table) => transaction.describe(table),
    get: (table, key) => outside(() => transaction.get(table, key)),
    batchGet: (keys) => outside(() => transaction.batchGet(keys)),
    queryPage: (...given) => outside(() => transaction.queryPage(...given)),
    scanPage: (...given) => outside(() => transaction.scanPage(...given)),
    put: (table, item) => {
      transaction.put(table, item);
    },
    delete: (table, key) => {
      transaction.delete(table, key);
    },
    doom: (error) => {
      transaction.doom(error);
    },
    rollback: () => transaction.rollback?.(),
  };
}

function refuseOthers(command: string): never {
  throw new InvalidRequestError(
    "command",
    `${command} neither reads nor writes items; send it by a client of your own`,
  );
}

/** Of this process; the first call makes it known to transactions. */
export function support(): Support {
  return offerCommands(new LocalSupport());
}
