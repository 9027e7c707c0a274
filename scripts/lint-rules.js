/**
 * Rules that no linter brings: each says what to write instead. `.oxlintrc.json` says where each
 * holds.
 */
const rule = (message, selectors) => ({
  meta: { type: "problem", schema: [], messages: { instead: message } },
  create: (context) =>
    Object.fromEntries(
      selectors.map((selector) => [
        selector,
        (node) => {
          context.report({ node, messageId: "instead" });
        },
      ]),
    ),
});

export default {
  meta: { name: "tidemark" },
  rules: {
    /** Both appeared in Node 20.11, and the oldest Node that is supported is 20.0. */
    "oldest-node": rule('Use fileURLToPath(new URL("…", import.meta.url)).', [
      "MemberExpression[object.type='MetaProperty'][property.name=/^(dirname|filename)$/]",
    ]),
    /** A bundler would keep every bound and its name, in every function. */
    "one-limit": rule("Name each bound where it is used: limits.keysMax.", [
      "VariableDeclarator[id.type='ObjectPattern'][init.name='limits']",
    ]),
    /** `new Date()` reads the clock; `new Date(value)` only formats. */
    "no-clock": rule("Time comes through core/ports.ts.", [
      "NewExpression[callee.name='Date'][arguments.length=0]",
    ]),
    synchronous: rule("core is synchronous.", [
      ":function[async=true]",
      "AwaitExpression",
      "ImportExpression",
    ]),
  },
};
