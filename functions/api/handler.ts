/** The Lambda function behind the HTTP API: the service of service.ts on AWS. Wiring only. */
import { createAwsPorts } from "../../aws/ports.ts";
import { createEngine } from "../../engine/engine.ts";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { createObservability } from "../shared/powertools-observability.ts";
import { httpApiHandler, type HttpApiHandler } from "./lambda-event.ts";
import { createApi } from "./service.ts";

const environment = readFunctionEnvironment(process.env);
const { deployment, region, endpoint, logLevel } = environment;
const observability = createObservability({ role: "api", deployment, logLevel });
const ports = createAwsPorts({ deployment, region, endpoint });
const corsOrigins = (process.env["TIDEMARK_CORS_ORIGINS"] ?? "").split(/[\s,]+/).filter(Boolean);

const handle = httpApiHandler(
  createApi({
    engine: createEngine(ports),
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
