/**
 * Commands of the AWS SDK inside of transactions (client/), as transactions know of them: whoever
 * does not import that entry pays for these few lines only. By a symbol of the whole process, since
 * an application may have loaded the package twice, as ES modules and as CommonJS.
 */
const slot = Symbol.for("tidemark.commands");

/** A transaction, or a snapshot, which must not write. */
export type Answering<Transaction> = {
  readonly transaction: Transaction;
  readonly mayWrite: boolean;
};

/** Where commands are answered by a transaction. */
export type CommandScope<Transaction> = {
  /** The same, for its body to use: what it does itself is none of the body's commands. */
  readonly transaction: Transaction;
  /** Runs the body. */
  run<Result>(body: () => Promise<Result>): Promise<Result>;
};

export type CommandSupport = {
  scope<Transaction extends object>(by: Answering<Transaction>): CommandScope<Transaction>;
  /** Answers one command, whoever sends it, by the transaction of a scope. */
  send(transaction: object, command: object): Promise<unknown>;
  /** Runs outside of all scopes: what is sent there is DynamoDB's. */
  outside<Result>(run: () => Result): Result;
};

const answered = Symbol.for("tidemark.answered");

type CallContext = { [answered]?: boolean };

/** Of a call's context in the AWS SDK: a transaction answers it, whoever goes on with it. */
export function markAnswered(context: object): void {
  (context as CallContext)[answered] = true;
}

/** Whether it reaches a transaction in place of DynamoDB. */
export function isAnswered(context: object): boolean {
  return (context as CallContext)[answered] === true;
}

type Holder = { [slot]?: CommandSupport };

/** Undefined: no part of this process has asked for it. */
export function commandSupport(): CommandSupport | undefined {
  return (globalThis as Holder)[slot];
}

/** Runs what is none of a body's commands, whoever calls it. */
export function outsideOfBodies<Result>(run: () => Result): Result {
  const support = commandSupport();
  return support === undefined ? run() : support.outside(run);
}

/** A listener to events: what it sends is its own, also where a body has brought them about. */
export function listeningOutside<Event>(listener: (event: Event) => void): (event: Event) => void {
  return (event) => {
    outsideOfBodies(() => {
      listener(event);
    });
  };
}

/** What was offered first stays. */
export function offerCommands<Support extends CommandSupport>(offered: Support): Support {
  const known = commandSupport();
  if (known !== undefined) return known as Support;
  (globalThis as Holder)[slot] = offered;
  return offered;
}
