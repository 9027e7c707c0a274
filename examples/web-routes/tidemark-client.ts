/**
 * The one client of this server. A development server loads changed modules anew, this one among
 * them; a client of each load would keep its connections and look at the log for good. What stands
 * at `globalThis` outlives the loads.
 */
import { type Client, createClient } from "../../sdk/index.ts";
import { clientOptionsFrom } from "../client-options.ts";

const kept = globalThis as typeof globalThis & { tidemarkClient?: Client };

/** Made when it is first asked for: building the pages needs no deployment. */
export function tidemark(): Client {
  kept.tidemarkClient ??= createClient(clientOptionsFrom(process.env));
  return kept.tidemarkClient;
}
