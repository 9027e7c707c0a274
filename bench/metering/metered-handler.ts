/**
 * A function's shipped handler, unchanged, in a process whose AWS calls and invocations are counted
 * when asked.
 */
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { meterPortVariable, type MeterAnswer } from "./meter-messages.ts";
import { processMeter } from "./process-meter.ts";

type Handler<Event, Context, Result> = (event: Event, context: Context) => Promise<Result>;

export function metered<Event, Context, Result>(
  role: string,
  handler: Handler<Event, Context, Result>,
): Handler<Event, Context, Result> {
  const meter = processMeter();
  const socket = connect(Number(process.env[meterPortVariable]), "127.0.0.1");
  // The supervisor decides when this process ends, not the benchmark's end of the line.
  socket.unref();
  socket.on("error", () => undefined);
  createInterface({ input: socket }).on("line", (request) => {
    if (request === "read") {
      socket.write(`${JSON.stringify({ role, cost: meter.cost } satisfies MeterAnswer)}\n`);
    } else meter.count(request === "on");
  });
  return (event, context) => {
    meter.invoked();
    return handler(event, context);
  };
}
