/** What the Terraform module gives functions besides their settings, where they run without it. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const moduleFolder = new URL("../infra/terraform/", import.meta.url);

export function moduleFile(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, moduleFolder)), "utf8");
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
