/**
 * Bytes of the SDK's bundle and of every function's zip, bundled from the sources, as JSON: for the
 * guard (bench/guard), which is in a layer of its own and runs this as a command.
 */
import { fileURLToPath } from "node:url";
import { sdkSizes, sdkTargets } from "./check-bundles.ts";
import { bundleFunction, functionNames } from "./function-bundles.ts";

const sdk = await sdkSizes(fileURLToPath(new URL("../sdk/index.ts", import.meta.url)));
const zips: Record<string, number> = {};
for (const name of functionNames()) zips[name] = (await bundleFunction(name)).zip.byteLength;
console.log(JSON.stringify({ sdk, sdkTargets, zips }));
