/** Small trees that break the rules of rules.ts, and what each rule says of its own. */
import {
  ambientViolations,
  barrelViolations,
  cycleViolations,
  exampleViolations,
  layerViolations,
  sdkDependencyViolations,
  serverTestViolations,
  shapeViolations,
  unusedExportViolations,
  unusedFileViolations,
  unusedLimitViolations,
} from "./rules.ts";
import type { SourceFacts } from "./source-facts.ts";

type RuleCase = {
  readonly rule: string;
  readonly check: (files: ReadonlyMap<string, SourceFacts>) => string[];
  readonly tree: Readonly<Record<string, string>>;
  readonly violations: readonly string[];
};

export const ruleCases: readonly RuleCase[] = [
  {
    rule: "layers",
    check: layerViolations,
    tree: {
      "core/a.ts": 'import { s } from "../sdk/client.ts"; import type { D } from "effect";',
      "core/b.ts": '/* import "fs" */ export const text = "import \\"fs\\"";',
      "engine/c.ts": 'export { d } from "../aws/d.ts"; import("./chaining/a.ts");',
      "engine/engine-core.ts": 'import("./chaining/a.ts"); import "./chaining/a.ts";',
      "engine/chaining/a.ts": 'import "../c.ts"; import "./b.ts";',
      "sdk/d.ts":
        'import { x } from "@aws-sdk/client-dynamodb"; import "../functions/a/service.ts";',
      "functions/a/e.ts": 'type E = import("../../sdk/e.ts").E; await import("@smithy/x");',
      "aws/f.ts": 'import { x } from "@aws-sdk/client-dynamodb"; import "../core/a.ts";',
    },
    violations: [
      "core/a.ts: core imports sdk",
      "core/a.ts: core imports effect",
      "engine/c.ts: engine imports aws",
      "engine/c.ts: only engine/engine-core.ts loads engine/chaining, on demand",
      "engine/engine-core.ts: only engine/engine-core.ts loads engine/chaining, on demand",
      "sdk/d.ts: only aws/ imports @aws-sdk/client-dynamodb",
      "sdk/d.ts: sdk imports functions",
      "functions/a/e.ts: functions imports sdk",
      "functions/a/e.ts: only aws/ imports @smithy/x",
    ],
  },
  {
    rule: "examples",
    check: exampleViolations,
    tree: {
      "examples/a.ts": 'import "../sdk/index.ts"; import "../sdk/discovery.ts"; import "./b.ts";',
      "examples/b/c.ts": 'import "commander"; import type { T } from "../../core/types.ts";',
      "demo/d.ts": 'import "../sdk/discovery.ts";',
    },
    violations: [
      "examples/a.ts: imports sdk/discovery.ts, which is no entry of the package",
      "examples/b/c.ts: imports core/types.ts, which is no entry of the package",
    ],
  },
  {
    rule: "cycles",
    check: cycleViolations,
    tree: {
      "core/a.ts": 'import type { B } from "./b.ts";',
      "core/b.ts": 'import { C } from "./c.ts";',
      "core/c.ts": 'import { A } from "./a.ts";',
      "core/d.ts": 'import { A } from "./a.ts";',
    },
    violations: ["cycle: core/a.ts -> core/b.ts -> core/c.ts -> core/a.ts"],
  },
  {
    rule: "ambient input",
    check: ambientViolations,
    tree: {
      "core/a.ts": "export const f = async () => { await 0; return Date.now(); };",
      "core/b.ts": "export const at = new Date(0); // Date.now() is not called",
      "engine/c.ts": "export const at = new Date(); setTimeout(() => 0, 1); ports.process.run();",
      "schemas/d.ts": "export const r = Math.random() + crypto.getRandomValues(x);",
      "functions/oracle/service.ts": "const mode = process.env;",
      "testing/f.ts": "const f = (process: P) => () => process.env; setImmediate(f);",
      "testing/kernel/macrotask.ts": "setImmediate(f);",
      "functions/oracle/handler.ts": "const mode = process.env;",
      "aws/e.ts": "export const now = () => Date.now();",
    },
    violations: [
      "core/a.ts: Date.now in core",
      "core/a.ts: async in core",
      "core/a.ts: await in core",
      "engine/c.ts: new Date() in engine",
      "engine/c.ts: setTimeout in engine",
      "schemas/d.ts: Math.random in schemas",
      "schemas/d.ts: crypto in schemas",
      "functions/oracle/service.ts: process in functions",
      "testing/f.ts: setImmediate in testing",
    ],
  },
  {
    rule: "shape",
    check: shapeViolations,
    tree: {
      "aws/long.ts": "\n".repeat(501),
      "aws/as-long-as-allowed.ts": "\n".repeat(500),
      "aws/camelCase.ts": "export enum E { a }",
      "aws/utils.ts": "export default 1;",
      "test/a.test.ts": 'test.skip("x", () => {}); describe.only("y", () => {});',
      "vitest.config.ts": "export default {};",
    },
    violations: [
      "aws/long.ts: over 500 lines",
      "aws/camelCase.ts: not in kebab-case",
      "aws/camelCase.ts: enum",
      "aws/utils.ts: says nothing by its name",
      "aws/utils.ts: default export",
      "test/a.test.ts: test.skip",
      "test/a.test.ts: describe.only",
    ],
  },
  {
    rule: "barrels",
    check: barrelViolations,
    tree: {
      "sdk/index.ts": 'export { a } from "./a.ts";',
      "sdk/a.ts": 'export { b } from "../core/b.ts"; export const a = 1;',
      "core/all.ts": 'export * from "./b.ts"; export * from "./c.ts";',
      "core/b.ts": 'export type { C } from "./c.ts"; export const b = 1;',
    },
    violations: ["sdk/a.ts: re-exports beside sdk/index.ts", "core/all.ts: is a barrel"],
  },
  {
    rule: "the SDK's dependencies",
    check: (files) =>
      sdkDependencyViolations(files, {
        dependencies: { pino: "1" },
        peerDependencies: { "@aws-sdk/client-dynamodb": "3" },
      }),
    tree: {
      "sdk/index.ts": 'import "../aws/a.ts"; import { z } from "zod"; import "node:crypto";',
      "aws/a.ts":
        'import "@aws-sdk/client-dynamodb"; import type { S } from "@standard-schema/spec";',
      "functions/x/handler.ts": 'import "pino";',
      "testing/index.ts": 'import "../functions/x/service.ts";',
      "functions/x/service.ts": 'import type { Hono } from "hono";',
    },
    violations: [
      "package.json: runtime dependency pino",
      "functions/x/service.ts: the SDK's user has no hono",
      "sdk/index.ts: the SDK's user has no zod",
      "aws/a.ts: the SDK's user has no @standard-schema/spec",
    ],
  },
  {
    rule: "unused files",
    check: unusedFileViolations,
    tree: {
      "sdk/index.ts": 'export { a } from "../core/a.ts";',
      "core/a.ts": "",
      "core/b.ts": "",
      "functions/x/handler.ts": 'import "./service.ts";',
      "functions/x/service.ts": "",
      "functions/x/dead.ts": "",
      "test/b.test.ts": 'import "../core/b.ts";',
    },
    violations: [
      "core/b.ts: nothing but tests reaches it",
      "functions/x/dead.ts: nothing but tests reaches it",
    ],
  },
  {
    rule: "unused exports",
    check: unusedExportViolations,
    tree: {
      "sdk/index.ts": "export const entry = 1;",
      "core/a.ts":
        "export const used = 1; export function unused() {} const [own] = [unused]; " +
        "export type Named = 1; export const named: Named = 1; export type Dead = 1;",
      "core/b.ts": 'import { used as mine, type named } from "./a.ts"; export class Whole {}',
      "core/c.ts": 'import * as all from "./b.ts"; export const far = 1; export type Far = 2;',
      "core/d.ts": 'export { far } from "./c.ts"; type F = import("./c.ts").Far;',
      "functions/x/handler.ts": "export const handler = 1;",
    },
    violations: ["core/a.ts: nobody imports unused", "core/a.ts: nobody imports Dead"],
  },
  {
    rule: "unused limits",
    check: (files) => unusedLimitViolations(files, ["keysMax", "bytesMax", "readsMax"]),
    tree: {
      "core/limits.ts": "assert(limits.bytesMax > 0);",
      "core/a.ts": "if (keys > limits.keysMax) fail(); const { readsMax: n } = limits;",
      "test/a.test.ts": "expect(limits.bytesMax).toBe(1);",
    },
    violations: ["limits.bytesMax bounds nothing"],
  },
  {
    rule: "servers in unit tests",
    check: serverTestViolations,
    tree: {
      "localstack/servers.ts": 'import dynalite from "dynalite";',
      "test/harness/stack.ts": 'import "../../localstack/servers.ts";',
      "test/engine/a.test.ts": 'import "../harness/stack.ts";',
      "test/engine/b.integration.test.ts": 'import "../harness/stack.ts";',
      "test/integration/c.test.ts": 'import "../harness/stack.ts";',
    },
    violations: [
      "test/engine/a.test.ts: a unit test that can start dynalite, through localstack/servers.ts",
    ],
  },
];
