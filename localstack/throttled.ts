/** Servers that refuse a share of their calls, as AWS's do for want of provisioned throughput. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

const answers = {
  dynamodb: {
    type: "application/x-amz-json-1.0",
    name: "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
  },
  kinesis: {
    type: "application/x-amz-json-1.1",
    name: "ProvisionedThroughputExceededException",
  },
} as const;

/** @returns how many of a hundred calls it refuses from then on; at first none. */
export function throttled(
  server: Server,
  service: keyof typeof answers,
): (percent: number) => void {
  const listeners = server.listeners("request") as Listener[];
  let percent = 0;
  /** Spread evenly, without randomness. */
  let due = 0;
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    due += percent;
    if (due >= 100) {
      due -= 100;
      refuse(request, response, service);
      return;
    }
    for (const listener of listeners) listener.call(server, request, response);
  });
  return (wanted) => {
    percent = wanted;
    due = 0;
  };
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  service: keyof typeof answers,
): void {
  const { type, name } = answers[service];
  request.resume();
  request.once("end", () => {
    response.writeHead(400, { "Content-Type": type });
    const message = "refused on purpose, as for want of provisioned throughput";
    response.end(JSON.stringify({ __type: name, message }));
  });
}
