/**
 * Stands between one function, or one client, and the stores, and notes every call as IAM would see
 * it: action, resource, and the partition keys that it names. It looks at the wire, so nothing that
 * the code says of itself counts.
 */
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { DeploymentNames } from "../../aws/names.ts";

/** What grants.json calls resources. */
export type GrantedResource =
  | "stream"
  | "log"
  | "control"
  | "versions"
  | "tables"
  | "mixedTables"
  | "indexes";

export type RecordedCall = {
  /** As in a policy: `dynamodb:PutItem`. */
  readonly action: string;
  readonly on: GrantedResource;
  /** The partition keys named, where they are text; what `dynamodb:LeadingKeys` would hold. */
  readonly leadingKeys: readonly string[];
};

export type CallRecorder = {
  /** For the function's environment or the client's options; the same for both services. */
  readonly url: string;
  /** Each kind of call once. */
  calls(): readonly RecordedCall[];
  stop(): Promise<void>;
};

/** Whether a policy allows the call; `tables` are those that it names. */
export type Permits = (call: RecordedCall, tables: readonly string[]) => boolean;

type Body = Readonly<Record<string, unknown>>;

export type RecorderOptions = {
  /** What is denied otherwise, as IAM denies it, and does not reach the stores. Default: all is. */
  readonly permits?: Permits;
  /** Tables that native operations write, too. */
  readonly mixed?: readonly string[];
};

export async function startCallRecorder(
  targets: { readonly dynamodb: string; readonly kinesis: string },
  names: DeploymentNames,
  { permits = () => true, mixed = [] }: RecorderOptions = {},
): Promise<CallRecorder> {
  const where = { names, mixed };
  const seen = new Map<string, RecordedCall>();
  const server = createServer((incoming, outgoing) => {
    void relay(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function relay(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await collect(incoming);
    const [service = "", operation = ""] = String(incoming.headers["x-amz-target"]).split(".");
    const isKinesis = service.startsWith("Kinesis");
    const asked = isKinesis ? {} : (JSON.parse(body.toString()) as Body);
    const calls = isKinesis
      ? [{ action: `kinesis:${operation}`, on: "stream" as const, leadingKeys: [] }]
      : dynamoDbCalls(operation, asked, where);
    const tables = tablesOf(asked);
    if (!calls.every((call) => permits(call, tables))) {
      deny(outgoing, `not authorized to perform ${service}.${operation}`);
      return;
    }
    for (const call of calls) seen.set(JSON.stringify(call), call);
    const url = isKinesis ? targets.kinesis : targets.dynamodb;
    const headers = { ...incoming.headers, connection: "close" };
    const onward = request(url, { method: incoming.method ?? "POST", headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    onward.end(body);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port.toString()}`,
    calls: () => [...seen.values()],
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function tablesOf(body: Body): string[] {
  const batch = body["RequestItems"];
  if (typeof batch === "object" && batch !== null) return Object.keys(batch);
  return typeof body["TableName"] === "string" ? [body["TableName"]] : [];
}

/** Both services say it so. */
function deny(outgoing: ServerResponse, message: string): void {
  outgoing.writeHead(400, { "content-type": "application/x-amz-json-1.1" });
  outgoing.end(JSON.stringify({ __type: "AccessDeniedException", message }));
}

type Where = { readonly names: DeploymentNames; readonly mixed: readonly string[] };

function dynamoDbCalls(operation: string, body: Body, where: Where): RecordedCall[] {
  const { names } = where;
  const action = `dynamodb:${operation}`;
  const batch = body["RequestItems"] as Readonly<Record<string, { Keys?: Body[] }>> | undefined;
  if (batch !== undefined) {
    return Object.entries(batch).map(([table, { Keys }]) => ({
      action,
      on: resourceOf(table, where),
      leadingKeys: (Keys ?? []).flatMap((key) => leadingKey(table, key, names)),
    }));
  }
  const table = String(body["TableName"]);
  if (body["IndexName"] !== undefined) return [{ action, on: "indexes", leadingKeys: [] }];
  const item = (body["Key"] ?? body["Item"]) as Body | undefined;
  const leadingKeys = item === undefined ? queriedKey(body) : leadingKey(table, item, names);
  return [{ action, on: resourceOf(table, where), leadingKeys }];
}

function resourceOf(table: string, { names, mixed }: Where): GrantedResource {
  if (table === names.logTable) return "log";
  if (table === names.controlTable) return "control";
  if (table === names.versionsTable) return "versions";
  return mixed.includes(table) ? "mixedTables" : "tables";
}

function leadingKey(table: string, item: Body, names: DeploymentNames): string[] {
  const attribute = { [names.logTable]: "shard", [names.controlTable]: "pk" }[table];
  return attribute === undefined ? [] : textOf(item[attribute]);
}

/** The value that a query's key condition names first, which is the partition's. */
function queriedKey(body: Body): string[] {
  const placeholder = /=\s*(:\w+)/.exec(String(body["KeyConditionExpression"]))?.[1];
  const values = body["ExpressionAttributeValues"] as Body | undefined;
  return placeholder === undefined ? [] : textOf(values?.[placeholder]);
}

function textOf(value: unknown): string[] {
  const text = (value as { readonly S?: string } | undefined)?.S;
  return text === undefined ? [] : [text];
}

async function collect(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
