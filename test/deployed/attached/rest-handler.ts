/**
 * Stands in for functions/api/handler.ts: in a deployment it runs elsewhere, and test/deploy runs
 * the zip.
 */
import { needsControl } from "./control.ts";

export function handler(): never {
  return needsControl("calls the handler in its own process");
}
