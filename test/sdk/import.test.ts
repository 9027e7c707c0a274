/** What importing the SDK costs: nothing of AWS is loaded until a call needs it. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

test("importing loads no package: every one is imported dynamically, and only AWS's are", async () => {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(new URL("../../sdk/index.ts", import.meta.url))],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    outdir: "unused",
    external: ["@aws-sdk/*", "@smithy/*"],
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  expect(imports.map(({ kind }) => kind)).not.toContain("import-statement");
  expect(new Set(imports.map(({ path }) => path))).toEqual(
    new Set(["@aws-sdk/client-dynamodb", "@aws-sdk/client-kinesis"]),
  );
});
