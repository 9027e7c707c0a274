/** The replay's handler as the benchmark's stack runs it. */
import { handler as shipped } from "../../functions/replay/handler.ts";
import { metered } from "./metered-handler.ts";

export const handler = metered("replay", shipped);
