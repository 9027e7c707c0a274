/** The refusals of Kinesis, in the service's words. */
import { ServiceError } from "../../../expressions/service-error.ts";

const account = "000000000000";

export function invalidArgument(message: string): ServiceError {
  return new ServiceError("InvalidArgumentException", { message });
}

/** A parameter that breaks a constraint of its own. */
export function violation(parameter: string, constraint: string): ServiceError {
  return new ServiceError("ValidationException", {
    message:
      `1 validation error detected: Value at '${parameter}' failed to satisfy constraint: ` +
      constraint,
  });
}

export function streamMissing(stream: string): ServiceError {
  return new ServiceError("ResourceNotFoundException", {
    message: `Stream ${stream} under account ${account} not found.`,
  });
}

export function shardMissing(shard: string, stream: string): ServiceError {
  return new ServiceError("ResourceNotFoundException", {
    message: `Could not find shard ${shard} in stream ${stream} under account ${account}.`,
  });
}
