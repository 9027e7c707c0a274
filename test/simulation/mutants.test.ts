/**
 * The breaks of the protocol that judge the judges: each has its marked places in the product, each
 * mark has its mutant, and nothing of it is left in what is built for production.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { mutants } from "../../simulation/mutants/catalogue.ts";
import { edited, marksIn } from "../../simulation/mutants/marked-places.ts";
import {
  always,
  editsOf,
  instead,
  never,
  omitted,
  preceded,
  when,
  type Edit,
  type Mutant,
} from "../../simulation/mutants/mutant.ts";
import { planOf } from "../../simulation/seed-plan.ts";

const root = join(import.meta.dirname, "..", "..");

/** The product's sources, and what stands for an application's own writes in a simulation. */
const sources = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard", "*.ts"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => /^(?:core|schemas|engine|aws|sdk|functions|simulation\/native)\//u.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
const marked = sources.filter(({ text }) => text.includes("mutant:"));

const minified = (text: string): string =>
  transformSync(text, { loader: "ts", minify: true, target: "node20" }).code;

/** The names in a text; those of properties, which types check elsewhere, left out. */
function identifiers(text: string): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAccessExpression(node)) visit(node.expression);
    else if (ts.isPropertyAssignment(node)) visit(node.initializer);
    else if (ts.isIdentifier(node)) names.add(node.text);
    else ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("a.ts", text, ts.ScriptTarget.ES2023));
  return names;
}

/** By mark: the mutants that change it. */
function usersOfMarks(): ReadonlyMap<string, readonly Mutant[]> {
  const users = new Map<string, Mutant[]>();
  for (const mutant of mutants) {
    for (const name of editsOf(mutant).keys()) {
      users.set(name, [...(users.get(name) ?? []), mutant]);
    }
  }
  return users;
}

describe("every mutant", () => {
  test("has a name of its own, and docs/reliability.md says how many there are", () => {
    const names = mutants.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const text = readFileSync(join(root, "docs", "reliability.md"), "utf8");
    expect(/^- Mutants: (\d+)\./mu.exec(text)?.[1]).toBe(String(names.length));
  });

  test.each(mutants)(
    "$name changes what is marked for it, by names that are known there",
    (mutant) => {
      for (const [name, edit] of editsOf(mutant)) {
        const files = marked.filter(({ text }) => marksIn(text).some((mark) => mark.name === name));
        expect(files, `files with a mark ${name}`).not.toEqual([]);
        for (const { file, text } of files) {
          const broken = edited(file, text, new Map([[name, edit]]));
          expect(minified(broken)).not.toBe(minified(text));
          const known = identifiers(text);
          expect([...identifiers(broken)].filter((each) => !known.has(each))).toEqual([]);
        }
      }
    },
  );

  test.each(mutants)("$name changes parts of the plan that there are", ({ changes = {} }) => {
    const known = Object.keys(planOf(1));
    for (const name of Object.keys(changes)) expect(known).toContain(name);
  });
});

describe("every mark", () => {
  // What replay refuses is seen only where the oracle commits it, too: such a break changes a mark
  // of another. The mark is named after one of them, and goes with that one.
  test("belongs to one mutant, and only others that need its break besides change it", () => {
    for (const [name, users] of usersOfMarks()) {
      const owner = users.length === 1 || users.some((mutant) => mutant.name === name);
      expect(owner, `the mark ${name} is changed by several mutants, none of its name`).toBe(true);
      for (const mutant of users) {
        const marks = [...editsOf(mutant).keys()];
        const hasOwn = mutant.name === name || marks.some((mark) => mark === mutant.name);
        expect(hasOwn || users.length === 1, `${mutant.name} has no mark of its own`).toBe(true);
      }
    }
  });

  test("has a mutant, and every edit of a mutant a mark", () => {
    const named = mutants.flatMap((mutant) => [...editsOf(mutant).keys()]);
    const marks = marked.flatMap(({ text }) => marksIn(text).map(({ name }) => name));
    expect(new Set(marks)).toEqual(new Set(named));
  });

  test("is spelled as a mark, on a line of its own", () => {
    for (const { file, text } of marked) {
      expect(text.split("mutant:").length - 1, file).toBe(marksIn(text).length);
    }
  });

  // The sweep demands only the probes that it finds: one that is misspelt would be lost unseen.
  test("of a branch to be reached is spelled as one, on a line of its own", () => {
    for (const { file, text } of sources) {
      const spelled = text.match(/^\s*\/\/ probe: [a-z0-9-]+$/gmu) ?? [];
      expect(text.split("probe:").length - 1, file).toBe(spelled.length);
    }
  });

  test("is a comment that no build for production has", () => {
    for (const { file, text } of marked) {
      expect(minified(text), file).not.toContain("mutant");
    }
  });
});

describe("an edit", () => {
  const cases: readonly (readonly [string, Edit, string])[] = [
    ["// mutant: m\nf();", omitted, "// mutant: m\n;"],
    ["g({\n// mutant: m\na: 1, b: 2 });", omitted, "g({\n// mutant: m\n...{}, b: 2 });"],
    ["// mutant: m\nif (a > b) f();", always, "// mutant: m\nif (true) f();"],
    ["// mutant: m\nreturn a ? b : c;", never, "// mutant: m\nreturn false ? b : c;"],
    ["// mutant: m\nif (a) f();", when("b"), "// mutant: m\nif (b) f();"],
    ["// mutant: m\nconst a = f();", instead((own) => `-${own}`), "// mutant: m\nconst a = -f();"],
    ["// mutant: m\na = f();", instead("1"), "// mutant: m\na = 1;"],
    ["// mutant: m\nthrow a;", instead("b"), "// mutant: m\nthrow b;"],
    ["// mutant: m\nif (a) f();", instead("g();"), "// mutant: m\nif (a) g();"],
    ["// mutant: m\nf();", preceded("g();"), "// mutant: m\ng();\nf();"],
    [
      "// mutant: m\nf();\n// why\n// mutant: m\n// mutant: n\ng();",
      omitted,
      "// mutant: m\n;\n// why\n// mutant: m\n// mutant: n\n;",
    ],
    ["// mutant: n\nf();", omitted, "// mutant: n\nf();"],
  ];
  test.each(cases)("changes what stands below its mark: %j, %j", (text, edit, expected) => {
    expect(edited("a.ts", text, new Map([["m", edit]]))).toBe(expected);
  });

  test.each([
    ["{\n// mutant: m\n}", omitted, "nothing stands below the mark m"],
    ["// mutant: m\nf();", always, "what stands below m has no condition"],
    ["f(\n// mutant: m\na);", preceded("g();"), "what stands below m has no preceded"],
  ] as const)("that does not fit is refused: %j", (text, edit, message) => {
    expect(() => edited("a.ts", text, new Map([["m", edit]]))).toThrow(message);
  });
});
