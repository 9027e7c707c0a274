/**
 * The environment of a function, as Terraform and the embedded stack set it, checked once at its
 * start.
 */
import type { CommitPreference } from "../../engine/types.ts";
import { logLevels, type LogLevel } from "./observability.ts";

export type FunctionEnvironment = {
  readonly deployment: string;
  readonly region: string | undefined;
  /** Set on local stacks only. */
  readonly endpoint: {
    readonly dynamodb: string | undefined;
    readonly kinesis: string | undefined;
  };
  readonly logLevel: LogLevel;
};

const commitPreferences = ["auto", "express", "stream"] as const satisfies CommitPreference[];

/** @throws RangeError naming the variable that is missing or wrong, and what it takes. */
export function readFunctionEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
): FunctionEnvironment {
  const deployment = variables["TIDEMARK_DEPLOYMENT"];
  if (deployment === undefined || deployment === "") {
    throw new RangeError("TIDEMARK_DEPLOYMENT is not set: it names the deployment to work for");
  }
  const wanted = variables["TIDEMARK_LOG_LEVEL"] ?? "INFO";
  const logLevel = logLevels.find((level) => level === wanted.toUpperCase());
  if (logLevel === undefined) {
    throw new RangeError(`TIDEMARK_LOG_LEVEL is "${wanted}": use one of ${logLevels.join(", ")}`);
  }
  return {
    deployment,
    region: variables["AWS_REGION"],
    endpoint: {
      dynamodb: variables["TIDEMARK_ENDPOINT_DYNAMODB"],
      kinesis: variables["TIDEMARK_ENDPOINT_KINESIS"],
    },
    logLevel,
  };
}

/**
 * Which way a function of the engine's own commits go, by `TIDEMARK_COMMIT`: as `commit` of
 * `createClient`, but by what serves better where nothing is said.
 * @throws RangeError
 */
export function readCommitPreference(
  variables: Readonly<Record<string, string | undefined>>,
): CommitPreference {
  const wanted = variables["TIDEMARK_COMMIT"] ?? "auto";
  const found = commitPreferences.find((each) => each === wanted);
  if (found !== undefined) return found;
  throw new RangeError(
    `TIDEMARK_COMMIT is "${wanted}": use one of ${commitPreferences.join(", ")}`,
  );
}
