/** Virtual time does not wait for files, so what runs in it is loaded before it begins. */
import { OnDemand } from "../core/on-demand.ts";

export async function loadAllParts(): Promise<void> {
  for (const part of OnDemand.all()) await part.load();
}
