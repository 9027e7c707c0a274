/**
 * The zips as files: what is in them, how large they are, and that the same sources give the same
 * bytes.
 */
import { isBuiltin } from "node:module";
import { unzipSync } from "fflate";
import { beforeAll, describe, expect, test } from "vitest";
import { functionRoles, functionSettings } from "../../functions/shared/settings.ts";
import {
  bundleFunction,
  bundleModule,
  functionNames,
  functionZipBytesMax,
  type FunctionBundle,
} from "../../scripts/function-bundles.ts";
import { noticeFile } from "../../scripts/notices.ts";

const bundles = new Map<string, FunctionBundle>();

beforeAll(async () => {
  for (const name of functionNames()) bundles.set(name, await bundleFunction(name));
}, 60_000);

test("there is a bundle for every function of the module, and no other", () => {
  expect(functionNames()).toEqual([...functionRoles].sort());
  expect(Object.keys(functionSettings).sort()).toEqual([...functionRoles].sort());
});

describe.each(functionNames())("%s", (name) => {
  const bundle = (): FunctionBundle => {
    const found = bundles.get(name);
    if (found === undefined) throw new Error(`${name} was not built`);
    return found;
  };

  test("takes at most 1 MB zipped, the AWS SDK included", () => {
    expect(bundle().zip.byteLength).toBeLessThanOrEqual(functionZipBytesMax);
    expect(functionZipBytesMax).toBe(1024 * 1024);
  });

  test("is the same bytes when it is built again", async () => {
    const again = await bundleFunction(name);
    expect(Buffer.from(again.zip).equals(bundle().zip)).toBe(true);
    expect(Buffer.from(again.sourceMap).equals(bundle().sourceMap)).toBe(true);
  });

  test("says whose parts are in it, under which licence", () => {
    const notices = Buffer.from(unzipSync(bundle().zip)[noticeFile] ?? []).toString();
    for (const each of bundle().packages) expect(notices).toContain(each);
    expect(notices).toMatch(/Apache License|Permission is hereby granted/u);
    expect(notices).not.toContain("node_modules");
  });

  test("holds one module, that imports nothing but Node's own and names no source map", () => {
    const files = unzipSync(bundle().zip);
    expect(Object.keys(files)).toEqual([bundleModule, noticeFile]);
    const code = Buffer.from(files[bundleModule] ?? []).toString();
    expect(code).not.toContain("sourceMappingURL");
    const { imports } = bundle();
    expect(imports.length).toBeGreaterThan(0);
    expect(imports.filter((from) => !isBuiltin(from))).toEqual([]);
  });
});
