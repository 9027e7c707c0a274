/**
 * What all commands share: how an answer is given, as text or as JSON, how a failure is said, and
 * the exit code: 0 fine; 1 something is not well, or could not be found out; 2 the command line
 * asks for what cannot be; 130 stopped on the way.
 */
import { CommanderError } from "commander";
import { InvalidRequestError, StoreError, TransactionError } from "../../core/errors.ts";
import { publicError } from "../../engine/public-error.ts";
import { StackError } from "../../localstack/stack-error.ts";
import { tamed } from "../../inspection/words/plain-text.ts";
import type { Terminal } from "./terminal.ts";

export type ExitCode = 0 | 1 | 2 | 130;

/** One answer in both forms; each is made only where it is asked for. */
export type Answer = {
  readonly text: () => readonly string[];
  readonly json: () => unknown;
};

export class Shell {
  readonly terminal: Terminal;
  exitCode: ExitCode = 0;

  constructor(terminal: Terminal) {
    this.terminal = terminal;
  }

  /**
   * An action as commander calls it. What it returns is the exit code, 0 if that is nothing. What a
   * user can do something about is said in one line.
   */
  act<Arguments extends readonly unknown[]>(
    run: (...args: Arguments) => Promise<ExitCode | undefined>,
  ): (...args: Arguments) => Promise<void> {
    return async (...args) => {
      try {
        this.exitCode = (await run(...args)) ?? 0;
      } catch (error) {
        if (error instanceof CommanderError) throw error;
        const isJson = args.some((each) => (each as { json?: unknown } | undefined)?.json === true);
        const exitCode = this.tell(error, { json: isJson });
        if (exitCode === undefined) throw error;
        this.exitCode = exitCode;
      }
    };
  }

  /** Says what went wrong. Undefined: it is a defect, and nothing was said. */
  tell(error: unknown, { json: isJson }: { readonly json?: boolean }): ExitCode | undefined {
    const failure = failureOf(error);
    if (failure === undefined) return undefined;
    if (isJson === true) this.fail(failure);
    else this.terminal.say(tamed(`tidemark: ${failure.message}\n`));
    return failure.exitCode;
  }

  /** One line of JSON, where that was asked for. */
  fail({ code, field, message }: Omit<Failure, "exitCode">): void {
    this.terminal.say(tamed(`${JSON.stringify({ error: { code, field, message } })}\n`));
  }

  /** One line of JSON, or lines of text. */
  answer({ json: isJson }: { readonly json?: boolean | undefined }, answer: Answer): void {
    if (isJson === true) this.terminal.print(tamed(`${JSON.stringify(answer.json())}\n`));
    else for (const line of answer.text()) this.terminal.print(tamed(`${line}\n`));
  }
}

type Failure = {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly field: string | undefined;
  readonly message: string;
};

/** Undefined: a defect, which shows where it happened. */
function failureOf(thrown: unknown): Failure | undefined {
  const error = publicError(thrown);
  if (error instanceof StackError) {
    const { reason: code, message } = error;
    return { exitCode: exitCodeOf(error), code, field: undefined, message };
  }
  if (!(error instanceof TransactionError)) return undefined;
  return {
    exitCode: exitCodeOf(error),
    code: error.code,
    field: error instanceof InvalidRequestError ? error.field : undefined,
    message: `${error.message}${remedyOf(error)}`,
  };
}

/** 2 for what the caller has to say in another way, else 1. */
function exitCodeOf(error: Error): 1 | 2 {
  if (error instanceof StackError) return error.reason === "config" ? 2 : 1;
  // A refusal by the store is no fault of the command line.
  return error instanceof InvalidRequestError && !(error.cause instanceof StoreError) ? 2 : 1;
}

/** For what the AWS SDK refuses by itself, in words that know of no command line. */
function remedyOf({ message, cause }: TransactionError): string {
  if (/region is missing/i.test(message)) return "; name it by --region or AWS_REGION";
  if (/could not load credentials/i.test(message)) {
    return "; give some, as to any AWS tool (AWS_PROFILE, `aws sso login`)";
  }
  const isDenied = cause instanceof StoreError && cause.code === "AccessDeniedException";
  return isDenied ? "; `tidemark doctor` tells which rights are missing" : "";
}
