/**
 * Commands of the AWS SDK inside of transactions (client/), as transactions know of them: whoever
 * does not import that entry pays for these few lines only. By a symbol of the whole process, since
 * an application may have loaded the package twice, as ES modules and as CommonJS.
 */
const slot = Symbol.for("tidemark.commands");

export type CommandSupport = {
  /**
   * Runs a body. Commands that it sends meanwhile are answered by its transaction, or its snapshot.
   */
  run<Result>(by: Answering, body: () => Promise<Result>): Promise<Result>;
  /** Whether whatever asks was called by a body. */
  isWithin(): boolean;
  /** Answers one command, whoever sends it. */
  send(transaction: object, command: object): Promise<unknown>;
};

export type Answering = { readonly transaction: object; readonly mayWrite: boolean };

type Holder = { [slot]?: CommandSupport };

/** Undefined: no part of this process has asked for it. */
export function commandSupport(): CommandSupport | undefined {
  return (globalThis as Holder)[slot];
}

/** What was offered first stays. */
export function offerCommands<Support extends CommandSupport>(offered: Support): Support {
  const known = commandSupport();
  if (known !== undefined) return known as Support;
  (globalThis as Holder)[slot] = offered;
  return offered;
}
