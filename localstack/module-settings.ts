/**
 * What the Terraform module says about the functions, read from the very file that the module
 * reads. Whoever runs the bundles without Terraform (tests, the light cloud's deployer) takes
 * memory, timeouts and mappings from here.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type MappingSettings = {
  readonly batchSize: number;
  readonly windowSeconds: number;
  readonly partialBatchResponse: boolean;
  readonly enhancedFanOut: boolean;
};

export type FunctionSettings = {
  readonly description: string;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  readonly mapping?: MappingSettings;
  /** As EventBridge spells it, such as `rate(1 minute)`. */
  readonly schedule?: string;
};

export const functionRoles = ["oracle", "replay", "reaper", "api", "provision"] as const;
export type FunctionRole = (typeof functionRoles)[number];

const moduleFolder = new URL("../infra/terraform/", import.meta.url);

export function moduleFile(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, moduleFolder)), "utf8");
}

export function functionSettings(): Readonly<Record<FunctionRole, FunctionSettings>> {
  return JSON.parse(moduleFile("functions.json")) as Record<FunctionRole, FunctionSettings>;
}

/** The module's names and settings for every function. */
export const functionModule = { runtime: "nodejs22.x", handler: "index.handler" } as const;

/** The environment that the module gives a function, endpoints of a local cloud included. */
export function functionEnvironment(options: {
  readonly deployment: string;
  readonly endpoint: { readonly dynamodb: string; readonly kinesis: string };
  readonly logLevel?: string;
}): Record<string, string> {
  return {
    TIDEMARK_DEPLOYMENT: options.deployment,
    TIDEMARK_LOG_LEVEL: options.logLevel ?? "INFO",
    TIDEMARK_ENDPOINT_DYNAMODB: options.endpoint.dynamodb,
    TIDEMARK_ENDPOINT_KINESIS: options.endpoint.kinesis,
  };
}
