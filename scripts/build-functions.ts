/**
 * Builds the functions' zips into `dist/functions`, where Terraform finds them, also in the
 * published package. Source maps lie beside the zips and are not published. Prints the sizes and
 * fails above the budget.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleFunction, functionNames, functionZipBytesMax } from "./function-bundles.ts";

const folder = fileURLToPath(new URL("../dist/functions", import.meta.url));

async function main(): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const tooLarge: string[] = [];
  for (const name of functionNames()) {
    const { zip, moduleBytes, sourceMap } = await bundleFunction(name);
    writeFileSync(join(folder, `${name}.zip`), zip);
    writeFileSync(join(folder, `${name}.mjs.map`), sourceMap);
    const [zipKib, moduleKib] = [zip.byteLength, moduleBytes].map((bytes) => bytes / 1024);
    console.log(
      `${name}.zip: ${zipKib?.toFixed(1) ?? ""} KiB (${moduleKib?.toFixed(1) ?? ""} KiB unpacked)`,
    );
    if (zip.byteLength > functionZipBytesMax) tooLarge.push(name);
  }
  if (tooLarge.length > 0) {
    throw new Error(
      `over the budget of ${functionZipBytesMax.toString()} bytes: ${tooLarge.join(", ")}`,
    );
  }
}

await main();
