/**
 * Which transaction a command belongs to: that of the body in which it was sent, known by Node's
 * `AsyncLocalStorage`, or one that is named.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { answerCommand } from "../commands/answer.ts";
import { TransactionCommands, type CommandTransaction } from "../commands/transaction-commands.ts";
import { offerCommands, type Answering } from "../aws/command-support.ts";
import { InvalidRequestError } from "../core/errors.ts";
import { offlineClient, type OfflineClient } from "../aws/offline-client.ts";
import type { CurrentCommands, Support } from "./current.ts";
import { answering } from "./middleware.ts";

class LocalSupport implements Support {
  readonly #storage = new AsyncLocalStorage<TransactionCommands | undefined>();
  readonly #known = new WeakMap<object, TransactionCommands>();
  #client: Promise<OfflineClient> | undefined;

  async run<Result>(by: Answering, body: () => Promise<Result>): Promise<Result> {
    const commands = this.#commandsOf(by);
    const result = await this.#storage.run(commands, body);
    if (!commands.isAtWork) return result;
    throw new InvalidRequestError(
      "body",
      "the body returned while a command was under way; is an `await` missing?",
    );
  }

  async send(transaction: object, command: object): Promise<unknown> {
    const commands = this.#commandsOf({ transaction, mayWrite: true });
    return commands.during(async () => {
      const client = await (this.#client ??= offlineClient(answering(this, refuseOthers)));
      return this.#storage.run(commands, () => client.send(command));
    });
  }

  isWithin(): boolean {
    return this.#storage.getStore() !== undefined;
  }

  current(): CurrentCommands | undefined {
    const commands = this.#storage.getStore();
    return (
      commands && {
        // What the engine sends for it is none of the transaction's commands.
        answer: (command, input) => this.outside(() => answerCommand(commands, command, input)),
        during: (run) => commands.during(run),
      }
    );
  }

  outside<Result>(run: () => Result): Result {
    return this.#storage.run(undefined, run);
  }

  #commandsOf({ transaction, mayWrite }: Answering): TransactionCommands {
    const known = this.#known.get(transaction);
    if (known !== undefined) return known;
    const commands = new TransactionCommands(transaction as CommandTransaction, mayWrite);
    this.#known.set(transaction, commands);
    return commands;
  }
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
