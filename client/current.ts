/** What the plugin asks: of whichever copy of this package has offered it. */
import type { CommandSupport } from "../aws/command-support.ts";
import type { Answer } from "../commands/answer.ts";

export type Support = CommandSupport & {
  /** Undefined: outside of all transactions. */
  current(): CurrentCommands | undefined;
  /** Has a client do once all that a first command takes, and sends nothing. */
  warmUp(client: SendingClient): Promise<void>;
};

export type CurrentCommands = {
  /** Undefined: it is none that reads or writes items. */
  answer(command: string, input: object): Promise<Answer> | undefined;
  /** Ends the transaction, where the command is one that it would have answered. */
  fail(command: string, error: unknown): void;
  /** Whether a body that returns meanwhile has not waited for it. */
  during<Result>(run: () => Promise<Result>): Promise<Result>;
};

/** A client of the AWS SDK, of either kind. */
export type SendingClient = { send(command: never): Promise<unknown> };
