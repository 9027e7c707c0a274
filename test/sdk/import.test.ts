/** What importing the SDK costs: nothing of AWS is loaded until a call needs it. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

test("importing loads no package: AWS's come dynamically, and there are no others", async () => {
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
  const pathsOf = (kind: string) =>
    new Set(imports.filter((each) => each.kind === kind).map(({ path }) => path));
  expect(pathsOf("dynamic-import")).toEqual(
    new Set(["@aws-sdk/client-dynamodb", "@aws-sdk/client-kinesis"]),
  );
  for (const path of pathsOf("import-statement")) expect(path).toMatch(/^node:/u);
});
