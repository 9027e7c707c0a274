/** A command, answered by a transaction. */
import { publicError } from "../engine/public-error.ts";
import { sentMembers } from "../expressions/sent-members.ts";
import { ServiceError } from "../expressions/service-error.ts";
import { operations } from "./operations.ts";
import type { TransactionCommands } from "./transaction-commands.ts";

/** What a command has come to: its output, or DynamoDB's refusal. Both are of the wire's form. */
export type Answer = { readonly output: object } | { readonly refusal: ServiceError };

/**
 * Answers a command by its name in the AWS SDK (`GetItemCommand`) and its input, of which counts
 * what the AWS SDK sends. Undefined: it is none that reads or writes items.
 * @throws what the transaction fails with, which dooms it: a library that swallows the error must
 * not commit the rest.
 */
export function answerCommand(
  commands: TransactionCommands,
  command: string,
  input: object,
): Promise<Answer> | undefined {
  const operation = operations.get(command);
  if (operation === undefined) return undefined;
  return answered(commands, async () => operation(sentMembers(input), commands));
}

async function answered(
  { transaction }: TransactionCommands,
  perform: () => Promise<object>,
): Promise<Answer> {
  try {
    return { output: await perform() };
  } catch (error) {
    if (error instanceof ServiceError) return { refusal: error };
    transaction.doom(error);
    throw publicError(error);
  }
}
