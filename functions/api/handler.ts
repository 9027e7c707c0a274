/** The Lambda function behind the HTTP API: the service of service.ts on AWS. Wiring only. */
import { createAwsPorts } from "../../aws/ports.ts";
import { createEngine } from "../../engine/engine.ts";
import { readCommitPreference, readFunctionEnvironment } from "../shared/environment.ts";
import { createObservability } from "../shared/powertools-observability.ts";
import { httpApiHandler, type HttpApiHandler } from "./lambda-event.ts";
import { createApi } from "./service.ts";

const environment = readFunctionEnvironment(process.env);
const { deployment, region, endpoint, logLevel } = environment;
const observability = createObservability({ role: "api", deployment, logLevel });
const ports = createAwsPorts({ deployment, region, endpoint });
const corsOrigins = (process.env["TIDEMARK_CORS_ORIGINS"] ?? "").split(/[\s,]+/).filter(Boolean);

// A frozen function relies on nothing that it knew: every commit follows a refresh of the tail,
// whose answer is dated, and no block is signed long after it (engine/express/block-appender.ts).
const engine = createEngine(ports, {
  commit: readCommitPreference(process.env),
  onEvent: (event) => {
    if (event.kind !== "express-denied") return;
    observability.log.warn("the function may not append to the log", { error: event.cause });
  },
});

const handle = httpApiHandler(
  createApi({
    engine,
    control: ports.control,
    clock: ports.clock,
    random: ports.random,
    logger: observability.log,
    metrics: observability.metrics,
    ...(corsOrigins.length === 0 ? {} : { corsOrigins }),
  }),
);

export const handler: HttpApiHandler = async (event, context) => {
  try {
    return await handle(event, context);
  } finally {
    observability.flush();
  }
};
