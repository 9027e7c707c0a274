/** Begins, asks for, runs and looks up BASE transactions; loaded with the first of them. */
import { systemDigest } from "../aws/system-digest.ts";
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue } from "../core/types.ts";
import type {
  BaseEngine,
  BaseStatus,
  BaseSteps as EngineSteps,
  BaseTrouble,
  HandlerDefinition,
} from "../engine/base/types.ts";
import type { BodyTransaction } from "../engine/types.ts";
import { publicError } from "../engine/public-error.ts";
import { isWellFormed, utf8Length } from "../core/utf8.ts";
import { awaitingSteps } from "./awaited-steps.ts";
import type { AnyBase, BaseDefinition, BaseSteps, NamedBase } from "./base-definition.ts";
import {
  type BaseRunnerOptions,
  checkRunnerOptions,
  isDefinition,
  runnerChecks,
} from "./base-runner-options.ts";
import { aSignal, aText, type Checks, checkOptions, integerIn, isText } from "./check-options.ts";
import type { Handles } from "./handles.ts";
import type { Numbers } from "./numbers.ts";
import type { Validator } from "./table.ts";
import { resultCodec } from "./result-codec.ts";
import type { TransactionBody } from "./transaction.ts";

export type { BaseStatus, BaseTrouble };

export type BaseStartOptions = {
  /**
   * Tells it from all others of its definition: one of that id that was begun before is found
   * again. 1 to 256 bytes.
   */
  readonly id: string;
  /** Gives it up as long as its first step is not committed. */
  readonly signal?: AbortSignal;
};

/** One BASE transaction. */
export type BaseHandle<Result> = {
  readonly id: string;
  /**
   * What its handler returned, once all see what it has written.
   * @throws BaseRefusedError when it was requested, and refused or cancelled.
   * @throws UnavailableError when it has not ended in time (default 30,000 ms).
   * @example const { paid } = await handle.result({ deadlineMs: 60_000 });
   */
  result(options?: {
    readonly deadlineMs?: number;
    readonly signal?: AbortSignal;
  }): Promise<Result>;
  /**
   * How far it is; undefined: there is none, or it has ended more than a week ago.
   * @example
   * const status = await handle.status();
   * if (status?.phase === "parked") console.warn(status.failure);
   */
  status(): Promise<BaseStatus | undefined>;
  /**
   * Lets one go on that was parked, since its handler had failed too often. Whether it was.
   * @example if (await handle.resume()) console.log("goes on");
   */
  resume(): Promise<boolean>;
  /**
   * Takes back one that was requested and has not begun. True: nothing of it has happened, and
   * nothing will. False: it has begun, and goes on to its end; or there is none.
   * @example const isTakenBack = await handle.cancel();
   */
  cancel(): Promise<boolean>;
};

export type BaseStarted<Result> = {
  readonly accepted: BaseHandle<Result>;
  /** False: one of that id had begun, or was asked for, before; maybe with another input. */
  readonly isNew: boolean;
  /** Whether that one has the same version and input, which count. */
  readonly isSame: boolean;
};

export type BaseRequested<Result> = {
  readonly requested: BaseHandle<Result>;
  /** False: one of that id was requested, or had begun, before; maybe with another input. */
  readonly isNew: boolean;
  /** Whether that one has the same version and input, which count. */
  readonly isSame: boolean;
};

export type BaseParts = {
  readonly engine: () => Promise<BaseEngine<BodyTransaction>>;
  readonly handles: () => Promise<Handles>;
  readonly numbers: Numbers;
};

export const startChecks = { id: aText, signal: aSignal } satisfies Checks<BaseStartOptions>;
const resultChecks = {
  deadlineMs: integerIn({ min: 1, max: limits.baseResultMsMax }),
  signal: aSignal,
};

type Start = {
  /** Callers without types leave them out. */
  readonly options: Partial<BaseStartOptions> | undefined;
  readonly parts: BaseParts;
};

/** @throws as `Client.base`. */
export async function startBase<Input, Result>(
  definition: BaseDefinition<Input, Result>,
  input: Input,
  start: Start,
): Promise<BaseStarted<Result>> {
  const { parts } = start;
  const { id, ...begun } = checkedStart(definition, input, start);
  const engine = await parts.engine();
  const wanted = { definition: engineDefinition(definition, parts), id, ...begun };
  const { isNew, isSame } = await engine.start(wanted);
  return { accepted: baseHandle(definition, id, parts), isNew, isSame };
}

/** @throws as `Client.requestBase`. */
export async function requestBase<Input, Result>(
  definition: BaseDefinition<Input, Result>,
  input: Input,
  start: Start,
): Promise<BaseRequested<Result>> {
  const { parts } = start;
  const { id, ...wanted } = checkedStart(definition, input, start);
  const { name, version } = definition;
  const engine = await parts.engine();
  const { isNew, isSame } = await engine.request({ name, version, id, isChecked: true, ...wanted });
  return { requested: baseHandle(definition, id, parts), isNew, isSame };
}

function checkedStart<Input, Result>(
  definition: BaseDefinition<Input, Result>,
  input: Input,
  { options = {}, parts }: Start,
): {
  readonly id: string;
  readonly input: AttributeValue;
  readonly signal: AbortSignal | undefined;
} {
  assertDefinition(definition);
  checkOptions("", options, startChecks);
  const { id, signal } = options;
  if (typeof id !== "string") {
    throw new InvalidRequestError("id", "a BASE transaction needs an `id`: { id: order.id }");
  }
  const codec = resultCodec<Input>(parts.numbers, undefined, "input");
  return { id, input: codec.encode(validated(definition, input)), signal };
}

export function baseHandle<Result>(
  definition: NamedBase<Result>,
  id: string,
  parts: BaseParts,
): BaseHandle<Result> {
  assertNamed(definition);
  if (!isText(id)) throw new InvalidRequestError("id", "`id` must be a non-empty string");
  const of = { name: definition.name, id };
  const asked = async <Answer>(
    ask: (engine: BaseEngine<BodyTransaction>) => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      return await ask(await parts.engine());
    } catch (error) {
      throw publicError(error);
    }
  };
  return {
    id,
    result: async (options = {}) => {
      checkOptions("", options, resultChecks);
      const { deadlineMs = limits.deadlineMsDefault, signal } = options;
      const value = await asked((engine) => engine.result(of, { deadlineMs, signal }));
      return resultCodec<Result>(parts.numbers).decode(value);
    },
    status: () => asked((engine) => engine.status(of)),
    resume: () => asked((engine) => engine.resume(of)),
    cancel: async () => {
      const status = await asked((engine) => engine.cancel(of));
      return status?.phase === "cancelled" || status?.phase === "refused";
    },
  };
}

/** @throws as `Client.baseRunner`. */
export async function runBases(options: BaseRunnerOptions, parts: BaseParts): Promise<void> {
  checkRunnerOptions(options, runnerChecks);
  const { handlers, signal, onTrouble, until = "stopped" } = options;
  assertEachOnce(handlers);
  const engine = await parts.engine();
  await engine.run({
    definitions: handlers.map((each) => engineDefinition(each, parts)),
    takeOverMs: options.takeOverMs ?? limits.baseTakeOverMsDefault,
    pollMs: options.pollMs ?? limits.baseRunnerPollMsDefault,
    ...{ until, signal, onTrouble },
  });
}

/** Of two that differ the first would run, whichever was meant. */
function assertEachOnce(handlers: readonly AnyBase[]): void {
  const known = new Set<string>();
  for (const { name, version } of handlers) {
    const each = `"${name}" in version ${version}`;
    if (known.has(each)) {
      const why = `\`handlers\` has ${each} twice: raise the \`version\` of the newer one`;
      throw new InvalidRequestError("handlers", why);
    }
    known.add(each);
  }
}

function engineDefinition<Input, Result>(
  definition: Pick<BaseDefinition<Input, Result>, "handler"> & Omit<AnyBase, "handler">,
  parts: BaseParts,
): HandlerDefinition<BodyTransaction> {
  const { name, version, handler, silentMsMax, parkAfterMs } = definition;
  const inputs = resultCodec<Input>(parts.numbers);
  const results = resultCodec<Result>(parts.numbers);
  return {
    ...{ name, version, silentMsMax, parkAfterMs },
    handler: async (steps, input) => {
      const handles = await parts.handles();
      const base = handlerSteps(steps, { handles, numbers: parts.numbers });
      const given = steps.isChecked
        ? inputs.decode(input)
        : (validated(
            definition,
            readable(() => inputs.decode(input)),
          ) as Input);
      // It goes on for longer than a body by which it was begun.
      const result = await handles.outside(() =>
        awaitingSteps(base, (awaited) => handler(awaited, given)),
      );
      return results.encode(result);
    },
  };
}

/** What this SDK has not written may be what it cannot read. */
function readable<Input>(read: () => Input): Input {
  try {
    return read();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "it cannot be read";
    throw new InvalidRequestError("input", `its input is none that this handler can have: ${why}`, {
      cause,
    });
  }
}

function handlerSteps(
  steps: EngineSteps<BodyTransaction>,
  { handles, numbers }: { readonly handles: Handles; readonly numbers: Numbers },
): BaseSteps {
  const { id, base } = steps;
  let drawn = 0;
  const draw = (): Uint8Array => {
    drawn += 1;
    return systemDigest(Buffer.from(`${base} ${drawn.toString()}`));
  };
  return {
    id,
    step: async <Result>(name: string, body: TransactionBody<Result>): Promise<Result> => {
      assertStep(name, body);
      const codec = resultCodec<Result>(numbers);
      const run = handles.transactions(body);
      const value = await steps.step(name, async (tx) => codec.encode(await run(tx)));
      return codec.decode(value);
    },
    now: () => new Date(steps.nowMs),
    random: () => Buffer.from(draw()).readUIntBE(0, 6) / 2 ** 48,
    uuid: () => uuidOf(draw()),
  };
}

/** Version 8: of bits of the application's own (RFC 9562). */
function uuidOf(bytes: Uint8Array): string {
  const own = Uint8Array.from(bytes.subarray(0, 16));
  own[6] = ((own[6] ?? 0) & 0x0f) | 0x80;
  own[8] = ((own[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(own).toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join("-");
}

function assertStep(name: unknown, body: unknown): void {
  const bytes = typeof name === "string" && isWellFormed(name) ? utf8Length(name) : 0;
  if (bytes > 0 && bytes <= limits.baseStepNameBytesMax && typeof body === "function") return;
  throw new InvalidRequestError(
    "step",
    "a step has a name and a body: step(name, body), the name of 1 to " +
      `${limits.baseStepNameBytesMax} bytes in UTF-8 (baseStepNameBytesMax)`,
  );
}

function validated<Input>(
  {
    name,
    input: schema,
  }: { readonly name: string; readonly input?: Validator<unknown, Input> | undefined },
  input: Input,
): Input {
  if (schema === undefined) return input;
  const result = schema["~standard"].validate(input);
  if ("then" in result) {
    result.then(undefined, () => undefined);
    throw new InvalidRequestError("input", `the validator of "${name}" must be synchronous`);
  }
  if (result.issues === undefined) return result.value;
  const issues = result.issues.map(({ message }) => message).join("; ");
  throw new InvalidRequestError("input", `"${name}" refuses its input: ${issues}`);
}

function assertDefinition(definition: unknown): void {
  if (!isDefinition(definition)) throw noDefinition();
}

/** Of one that is looked up no more counts than its name. */
function assertNamed(definition: unknown): void {
  const isNamed = typeof definition === "object" && definition !== null && "handler" in definition;
  if (!isNamed || !("name" in definition) || !isText(definition.name)) throw noDefinition();
}

function noDefinition(): InvalidRequestError {
  return new InvalidRequestError("definition", "the first argument is what defineBase makes");
}
