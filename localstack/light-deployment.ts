/**
 * Deploys to a local cloud without Terraform, for machines that cannot get its provider: the same
 * zips with the settings that the module reads, created through the AWS SDK. It makes what a test
 * needs, in the module's order; roles, alarms, logs and all the rest only the module has.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as httpApis from "@aws-sdk/client-apigatewayv2";
import * as dynamodb from "@aws-sdk/client-dynamodb";
import * as events from "@aws-sdk/client-eventbridge";
import * as kinesis from "@aws-sdk/client-kinesis";
import * as lambda from "@aws-sdk/client-lambda";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { deploymentNames, type DeploymentNames } from "../aws/names.ts";
import { historyRetentionMsDefault as historyRetentionMs } from "../core/limits.ts";
import { createTables, type TableDefinition } from "../aws/create-tables.ts";
import { systemTables } from "../aws/provision.ts";
import {
  functionSettings,
  scheduleExpression,
  rolesOf,
  type FunctionRole,
  type FunctionSettings,
} from "../functions/shared/settings.ts";
import { functionEnvironment, functionModule } from "./module-settings.ts";

export type LightDeploymentOptions = {
  readonly endpoint: string;
  readonly deployment: string;
  /** Folder of the zips. */
  readonly functionsFolder: string;
  /** Created and registered. */
  readonly tables: readonly (TableDefinition & { readonly history: boolean })[];
  readonly logLevel?: string;
};

export type LightDeployment = {
  readonly restApiId: string;
  /** Removes everything that was made. */
  destroy(): Promise<void>;
};

const region = "us-east-1";
const account = "000000000000";

export async function deployLight(options: LightDeploymentOptions): Promise<LightDeployment> {
  const clients = openClients(options.endpoint);
  const names = deploymentNames(options.deployment);
  const functionName = (role: FunctionRole): string => `tidemark-${options.deployment}-${role}`;
  const aws = { region, endpoint: options.endpoint, credentials: clients.credentials };
  const parts = { clients, names, functionName, options };

  await makeStream(parts);
  await createTables(aws, [...systemTables(names), ...options.tables]);
  for (const role of rolesOf("stream")) await makeFunction(parts, role);
  await invokeProvision(parts);
  const mappings = await makeMappings(parts);
  await makeSchedules(parts);
  const restApiId = await makeRest(parts);

  return {
    restApiId,
    async destroy() {
      await destroy(parts, { mappings, restApiId });
      clients.close();
    },
  };
}

type Clients = ReturnType<typeof openClients>;

type Parts = {
  readonly clients: Clients;
  readonly names: DeploymentNames;
  readonly functionName: (role: FunctionRole) => string;
  readonly options: LightDeploymentOptions;
};

function openClients(endpoint: string) {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const config = { region, endpoint, credentials };
  const opened = {
    lambda: new lambda.LambdaClient(config),
    kinesis: new kinesis.KinesisClient({ ...config, requestHandler: new NodeHttpHandler() }),
    dynamodb: new dynamodb.DynamoDBClient(config),
    httpApis: new httpApis.ApiGatewayV2Client(config),
    events: new events.EventBridgeClient(config),
  };
  return {
    ...opened,
    credentials,
    close(): void {
      for (const client of Object.values(opened)) client.destroy();
    },
  };
}

async function makeStream({ clients, names }: Parts): Promise<void> {
  const StreamName = names.stream;
  await clients.kinesis.send(new kinesis.CreateStreamCommand({ StreamName, ShardCount: 1 }));
  await kinesis.waitUntilStreamExists(
    { client: clients.kinesis, maxWaitTime: 60, minDelay: 1 },
    { StreamName },
  );
  const retention = { StreamName, RetentionPeriodHours: 168 };
  await clients.kinesis.send(new kinesis.IncreaseStreamRetentionPeriodCommand(retention));
}

async function makeFunction(parts: Parts, role: FunctionRole): Promise<void> {
  const { clients, functionName, options } = parts;
  const { description, memoryMb, timeoutSeconds } = functionSettings[role];
  const { endpoint, deployment, logLevel } = options;
  const FunctionName = functionName(role);
  await clients.lambda.send(
    new lambda.CreateFunctionCommand({
      FunctionName,
      Description: description,
      Role: `arn:aws:iam::${account}:role/${FunctionName}`,
      Runtime: functionModule.runtime,
      Handler: functionModule.handler,
      Code: { ZipFile: readFileSync(join(options.functionsFolder, `${role}.zip`)) },
      MemorySize: memoryMb,
      Timeout: timeoutSeconds,
      Environment: {
        Variables: functionEnvironment({
          deployment,
          endpoint: { dynamodb: endpoint, kinesis: endpoint },
          ...(logLevel === undefined ? {} : { logLevel }),
        }),
      },
    }),
  );
  await lambda.waitUntilFunctionActiveV2(
    { client: clients.lambda, maxWaitTime: 60, minDelay: 1 },
    { FunctionName },
  );
}

async function invokeProvision({ clients, functionName, options }: Parts): Promise<void> {
  const tables = options.tables.map(({ name, history }) => ({ name, history }));
  const { FunctionError, Payload } = await clients.lambda.send(
    new lambda.InvokeCommand({
      FunctionName: functionName("provision"),
      Payload: Buffer.from(JSON.stringify({ tables, historyRetentionMs })),
    }),
  );
  if (FunctionError === undefined) return;
  throw new Error(`provision failed: ${Buffer.from(Payload ?? []).toString()}`);
}

async function makeMappings({ clients, names, functionName }: Parts): Promise<readonly string[]> {
  const made: string[] = [];
  for (const role of rolesOf("stream")) {
    const { mapping }: FunctionSettings = functionSettings[role];
    if (mapping === undefined) continue;
    const { UUID } = await clients.lambda.send(
      new lambda.CreateEventSourceMappingCommand({
        FunctionName: functionName(role),
        EventSourceArn: `arn:aws:kinesis:${region}:${account}:stream/${names.stream}`,
        StartingPosition: mapping.startingPosition,
        BatchSize: mapping.batchSize,
        MaximumBatchingWindowInSeconds: mapping.windowSeconds,
        ParallelizationFactor: mapping.parallelizationFactor,
        BisectBatchOnFunctionError: mapping.bisect,
        MaximumRetryAttempts: mapping.retriesMax,
        MaximumRecordAgeInSeconds: mapping.recordAgeSecondsMax,
        FunctionResponseTypes: mapping.partialBatchResponse ? ["ReportBatchItemFailures"] : [],
      }),
    );
    if (UUID !== undefined) made.push(UUID);
  }
  return made;
}

async function makeSchedules({ clients, functionName }: Parts): Promise<void> {
  for (const role of rolesOf("stream")) {
    const { schedule }: FunctionSettings = functionSettings[role];
    if (schedule === undefined) continue;
    const Name = functionName(role);
    const { RuleArn } = await clients.events.send(
      new events.PutRuleCommand({ Name, ScheduleExpression: scheduleExpression(schedule) }),
    );
    await clients.lambda.send(
      new lambda.AddPermissionCommand({
        FunctionName: Name,
        StatementId: "schedule",
        Action: "lambda:InvokeFunction",
        Principal: "events.amazonaws.com",
        SourceArn: RuleArn,
      }),
    );
    const Arn = `arn:aws:lambda:${region}:${account}:function:${Name}`;
    await clients.events.send(
      new events.PutTargetsCommand({ Rule: Name, Targets: [{ Id: role, Arn }] }),
    );
  }
}

async function makeRest({ clients, functionName }: Parts): Promise<string> {
  const Name = functionName("api");
  const { ApiId } = await clients.httpApis.send(
    new httpApis.CreateApiCommand({ Name, ProtocolType: "HTTP" }),
  );
  if (ApiId === undefined) throw new Error("the HTTP API was made without an id");
  const { IntegrationId } = await clients.httpApis.send(
    new httpApis.CreateIntegrationCommand({
      ApiId,
      IntegrationType: "AWS_PROXY",
      IntegrationMethod: "POST",
      IntegrationUri: `arn:aws:lambda:${region}:${account}:function:${Name}`,
      PayloadFormatVersion: "2.0",
      TimeoutInMillis: 30_000,
    }),
  );
  await clients.httpApis.send(
    new httpApis.CreateRouteCommand({
      ApiId,
      RouteKey: "$default",
      Target: `integrations/${IntegrationId ?? ""}`,
      AuthorizationType: "AWS_IAM",
    }),
  );
  await clients.httpApis.send(
    new httpApis.CreateStageCommand({ ApiId, StageName: "$default", AutoDeploy: true }),
  );
  await clients.lambda.send(
    new lambda.AddPermissionCommand({
      FunctionName: Name,
      StatementId: "http-api",
      Action: "lambda:InvokeFunction",
      Principal: "apigateway.amazonaws.com",
      SourceArn: `arn:aws:execute-api:${region}:${account}:${ApiId}/*/$default`,
    }),
  );
  return ApiId;
}

async function destroy(
  { clients, names, functionName, options }: Parts,
  made: { readonly mappings: readonly string[]; readonly restApiId: string },
): Promise<void> {
  for (const UUID of made.mappings) {
    await clients.lambda.send(new lambda.DeleteEventSourceMappingCommand({ UUID }));
  }
  for (const role of rolesOf("stream")) {
    const Name = functionName(role);
    const { schedule }: FunctionSettings = functionSettings[role];
    if (schedule !== undefined) {
      await clients.events.send(new events.RemoveTargetsCommand({ Rule: Name, Ids: [role] }));
      await clients.events.send(new events.DeleteRuleCommand({ Name }));
    }
    await clients.lambda.send(new lambda.DeleteFunctionCommand({ FunctionName: Name }));
  }
  await clients.httpApis.send(new httpApis.DeleteApiCommand({ ApiId: made.restApiId }));
  const tables = [...systemTables(names), ...options.tables];
  for (const { name } of tables) {
    await clients.dynamodb.send(new dynamodb.DeleteTableCommand({ TableName: name }));
  }
  await clients.kinesis.send(new kinesis.DeleteStreamCommand({ StreamName: names.stream }));
  for (const { name } of tables) {
    await dynamodb.waitUntilTableNotExists(
      { client: clients.dynamodb, maxWaitTime: 60, minDelay: 1 },
      { TableName: name },
    );
  }
}

/**
 * What is still there of a deployment: functions, mappings, schedules, tables and streams under its
 * name.
 */
export async function deploymentLeftovers(options: {
  readonly endpoint: string;
  readonly deployment: string;
  /** Of the user's tables. */
  readonly tables: readonly string[];
}): Promise<readonly string[]> {
  const clients = openClients(options.endpoint);
  try {
    const { Functions } = await clients.lambda.send(new lambda.ListFunctionsCommand({}));
    const { EventSourceMappings } = await clients.lambda.send(
      new lambda.ListEventSourceMappingsCommand({}),
    );
    const { TableNames } = await clients.dynamodb.send(new dynamodb.ListTablesCommand({}));
    const { StreamNames } = await clients.kinesis.send(new kinesis.ListStreamsCommand({}));
    const { Rules } = await clients.events.send(new events.ListRulesCommand({}));
    const { Items } = await clients.httpApis.send(new httpApis.GetApisCommand({}));
    const found = [
      ...(Functions ?? []).map(({ FunctionName }) => FunctionName),
      ...(EventSourceMappings ?? []).map(({ FunctionArn }) => FunctionArn),
      ...(Rules ?? []).map(({ Name }) => Name),
      ...(Items ?? []).map(({ Name }) => Name),
      ...(TableNames ?? []),
      ...(StreamNames ?? []),
    ];
    const own = `tidemark-${options.deployment}-`;
    return found.filter(
      (name): name is string =>
        name !== undefined && (name.includes(own) || options.tables.includes(name)),
    );
  } finally {
    clients.close();
  }
}
