/**
 * Bytes of what users load and what Lambda starts, bundled from the sources: no build is needed
 * before.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import type { Count } from "./budgets.ts";

const script = fileURLToPath(new URL("../../scripts/bundle-sizes.ts", import.meta.url));

const bytes = z.number().positive();
const sizesSchema = z.object({
  sdk: z.object({ eagerBytes: bytes, wholeBytes: bytes, gzippedBytes: bytes }),
  sdkTargets: z.object({ eagerBytes: bytes, gzippedBytes: bytes }),
  zips: z.record(z.string(), bytes),
});

export async function sizeCounts(): Promise<readonly Count[]> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", script]);
  const { sdk, sdkTargets, zips } = sizesSchema.parse(JSON.parse(stdout));
  return [
    { ...sdkCount("loaded by importing it", sdk.eagerBytes), targetMax: sdkTargets.eagerBytes },
    sdkCount("whole", sdk.wholeBytes),
    { ...sdkCount("whole, gzipped", sdk.gzippedBytes), targetMax: sdkTargets.gzippedBytes },
    ...Object.entries(zips).map(([name, figure]) => ({ group: "function zip", name, figure })),
  ];
}

function sdkCount(name: string, figure: number): Count {
  return { group: "SDK bundle", name, figure };
}
