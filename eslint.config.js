/**
 * Lint rules. The layers and file sizes are judged a second time, with their own negative tests, in
 * test/tidy.test.ts; what only types can show (floating promises, unsafe any, missing cases) is
 * here.
 */
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const clockAndTimers = ["setTimeout", "setInterval", "setImmediate", "performance"].map((name) => ({
  name,
  message: "Time comes through core/ports.ts, so a simulator can own it.",
}));

const processState = ["process", "console"].map((name) => ({
  name,
  message: "Environment and logging belong to handlers and tools.",
}));

const randomness = [
  { name: "crypto", message: "Randomness comes through core/ports.ts, so a run can be repeated." },
];

const ambientProperties = [
  { object: "Math", property: "random", message: "Randomness comes through core/ports.ts." },
  { object: "Date", property: "now", message: "Time comes through core/ports.ts." },
];

const ambientModules = [
  "timers",
  "timers/promises",
  "perf_hooks",
  "process",
  "child_process",
  "worker_threads",
].flatMap((name) => [name, `node:${name}`]);

/** `new Date()` reads the clock; `new Date(value)` only formats. */
const readsClock = {
  selector: "NewExpression[callee.name='Date'][arguments.length=0]",
  message: "Time comes through core/ports.ts.",
};

/** Both appeared in Node 20.11, and the oldest Node that is supported is 20.0. */
const newerNode = {
  selector: "MemberExpression[object.type='MetaProperty'][property.name=/^(dirname|filename)$/]",
  message: 'Use fileURLToPath(new URL("…", import.meta.url)).',
};

/** A bundler would keep every bound and its name, in every function. */
const allLimits = {
  selector: "VariableDeclarator[id.type='ObjectPattern'][init.name='limits']",
  message: "Name each bound where it is used: limits.keysMax.",
};

export default defineConfig(
  { ignores: ["node_modules/", "dist/", "coverage/", ".cache/", ".tidemark/"] },
  { linterOptions: { noInlineConfig: true, reportUnusedDisableDirectives: "error" } },
  {
    files: ["**/*.{ts,tsx}"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/consistent-type-imports": [
        "error",
        { fixStyle: "inline-type-imports", disallowTypeAnnotations: false },
      ],
      "@typescript-eslint/consistent-type-definitions": "off",
      // Record<never, never> is the way to say "no option yet".
      "@typescript-eslint/no-generated-empty-object-type": "off",
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-unnecessary-condition": [
        "error",
        { allowConstantLoopConditions: "only-allowed-literals" },
      ],
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", ignoreRestSiblings: true },
      ],
      // A port's method is async by contract, whether or not one implementation has to wait.
      "@typescript-eslint/require-await": "off",
      "max-lines": ["error", { max: 500 }],
      "max-lines-per-function": ["error", { max: 70, skipBlankLines: true, skipComments: true }],
      "no-restricted-syntax": ["error", newerNode, allLimits],
      eqeqeq: "error",
      "no-console": "error",
      "no-duplicate-imports": ["error", { allowSeparateTypeImports: true }],
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
  {
    // The folders whose behaviour must be a function of their inputs.
    files: ["{schemas,expressions,engine,sdk,native,commands,client,functions}/**/*.ts"],
    ignores: ["functions/**/handler.ts"],
    rules: {
      "no-restricted-globals": ["error", ...clockAndTimers, ...processState, ...randomness],
      "no-restricted-properties": ["error", ...ambientProperties],
      "no-restricted-imports": ["error", { paths: ambientModules }],
      "no-restricted-syntax": ["error", newerNode, readsClock, allLimits],
    },
  },
  {
    files: ["core/**/*.ts"],
    rules: {
      "no-restricted-globals": [
        "error",
        ...clockAndTimers,
        ...processState,
        ...randomness,
        { name: "Date", message: "core has no clock." },
        { name: "Promise", message: "core is synchronous." },
      ],
      "no-restricted-properties": ["error", ...ambientProperties],
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { regex: "^(?!\\.\\.?/)", message: "core imports no package and no module of Node." },
            { group: ["../*"], message: "core imports only core." },
          ],
        },
      ],
      "no-restricted-syntax": [
        "error",
        newerNode,
        allLimits,
        { selector: ":function[async=true]", message: "core is synchronous." },
        { selector: "AwaitExpression", message: "core is synchronous." },
        { selector: "ImportExpression", message: "core is synchronous." },
      ],
    },
  },
  {
    // ports.ts declares asynchronous interfaces; a type is no behaviour.
    files: ["core/ports.ts"],
    rules: { "no-restricted-globals": "off" },
  },
  {
    files: ["{localstack,cli,console,bench,examples,demo,scripts,simulation}/**/*.ts"],
    rules: { "no-console": "off" },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      // A `describe` holds many tests; the length of each is what the reader sees.
      "max-lines-per-function": "off",
      "no-console": "off",
      // Vitest provides both.
      "no-restricted-syntax": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/unbound-method": "off",
      // Tests of encodings mean code points when they spread a string.
      "@typescript-eslint/no-misused-spread": "off",
    },
  },
);
