/** `tidemark init`: what it writes, what it refuses, and that it leaves alone what is there. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { installCommands, installNote, packageSource } from "../../cli/init/package-source.ts";
import { projectFiles } from "../../cli/init/project-files.ts";
import { writeProject } from "../../cli/init/write-project.ts";
import { tidemark } from "./fixtures/command-line.ts";

const expected = [
  "package.json",
  ".gitignore",
  "README.md",
  "compose.yaml",
  "infra/main.tf",
  "src/accounts.ts",
  "src/client.ts",
  "src/main.ts",
  "test/accounts.test.ts",
  "tidemark.config.json",
  "tsconfig.json",
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-init-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const init = (...args: readonly string[]) => tidemark(["init", ...args], { folder });
/** What these tests run from. */
const inClone = installCommands(
  { kind: "folder", path: join(import.meta.dirname, "../..") },
  packageJson.version,
);
const within = (...steps: readonly string[]): string => join(folder, ...steps);
const read = (...steps: readonly string[]): string => readFileSync(within(...steps), "utf8");

function filesOf(place: string): readonly string[] {
  const all = readdirSync(place, { recursive: true, withFileTypes: true });
  return all.filter((each) => !each.isDirectory()).map((each) => each.name);
}

describe("a project is written", () => {
  test("into a new folder, and what comes next is said", async () => {
    const { code, out, err } = await init("orders/my-shop");
    expect([code, err]).toEqual([0, ""]);
    for (const file of expected) expect(out).toContain(`\n  ${file}\n`);
    expect(out).toContain(`\nNext: cd orders/my-shop && ${inClone.join(" && ")} && npm test;`);
    expect(out).toContain("\nThis Tidemark runs from a folder: `npm pack` builds it");
    expect(filesOf(within("orders/my-shop"))).toHaveLength(expected.length);
  });

  test("into an empty one; with --json as one line", async () => {
    const { code, out } = await init("--name", "my-shop", "--json");
    expect([code, out.endsWith("\n"), out.trimEnd().includes("\n")]).toEqual([0, true, false]);
    const next = [...inClone, "npm test"];
    expect(JSON.parse(out)).toEqual({ name: "my-shop", folder, files: expected, next });
    for (const file of expected) expect(existsSync(within(file))).toBe(true);
  });

  test("beside what does not stand in its way", async () => {
    mkdirSync(within("src"));
    writeFileSync(within("LICENSE"), "mine");
    writeFileSync(within("src", "mine.ts"), "mine");
    expect((await init("--name", "shop")).code).toBe(0);
    expect([read("LICENSE"), read("src", "mine.ts")]).toEqual(["mine", "mine"]);
  });

  test("at this version, with the packages that this version is tested with", async () => {
    await init("shop");
    const { dependencies, devDependencies, scripts, ...rest } = JSON.parse(
      read("shop", "package.json"),
    ) as Record<string, Record<string, string>>;
    expect(rest).toMatchObject({ name: "shop", private: true, type: "module" });
    expect(scripts).toMatchObject({ start: "tidemark start", test: "vitest run" });
    const own: Readonly<Record<string, string>> = packageJson.devDependencies;
    expect(dependencies?.["tidemark"]).toBe(packageJson.version);
    for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
      if (name !== "tidemark") expect([name, range]).toEqual([name, own[name]]);
    }
    // Spans are for who asks for them.
    const { "@opentelemetry/api": _spans, ...peers } = packageJson.peerDependencies;
    for (const peer of Object.keys(peers)) {
      expect({ ...dependencies, ...devDependencies }).toHaveProperty([peer]);
    }
  });

  test("under its own name everywhere", async () => {
    await init("shop");
    expect(read("shop", "README.md")).toMatch(/^# shop\n/);
    expect(read("shop", "compose.yaml")).toContain("\nname: shop\n");
    expect(read("shop", "infra/main.tf")).toContain('default     = "shop"');
    const texts = [...projectFiles("shop").values()];
    expect(texts.filter((text) => text.includes("my-tidemark-app"))).toEqual([]);
  });
});

describe("the packages are installed", () => {
  const installed = (lock: unknown): string => {
    const place = within("node_modules", "tidemark");
    mkdirSync(place, { recursive: true });
    if (lock !== undefined)
      writeFileSync(within("node_modules", ".package-lock.json"), lock as string);
    return place;
  };
  const noted = (resolved: string): string =>
    JSON.stringify({ packages: { "node_modules/tidemark": { version: "1.2.3", resolved } } });

  test.each([undefined, "{", noted("https://packages.example/tidemark-1.2.3.tgz")])(
    "as package.json says, where this one came from a registry: %s",
    (lock) => {
      const source = packageSource(installed(lock));
      expect(installCommands(source, "1.2.3")).toEqual(["npm install"]);
      expect(installNote(source)).toBeUndefined();
    },
  );

  test("from the file that this one came from", () => {
    const place = installed(noted("file:my files/tidemark-1.2.3.tgz"));
    const file = within("my files/tidemark-1.2.3.tgz");
    expect(installNote(packageSource(place))).toContain(`${file}, which is not there any more`);
    mkdirSync(within("my files"));
    writeFileSync(file, "");
    const source = packageSource(place);
    expect(installCommands(source, "1.2.3")).toEqual([`npm install '${file}'`]);
    expect(installNote(source)).toContain("was installed from a file");
  });

  test("from a file that is packed, where this one runs from a clone", () => {
    const source = packageSource("/clones/tidemark");
    expect(installCommands(source, "1.2.3")).toEqual([
      "npm pack /clones/tidemark",
      "npm install ./tidemark-1.2.3.tgz",
    ]);
  });
});

test("the Terraform names inputs that the module has", () => {
  const root = join(import.meta.dirname, "../..");
  const variables = readFileSync(join(root, "infra/terraform/variables.tf"), "utf8");
  const text = projectFiles("shop").get("infra/main.tf") ?? "";
  const [, inside = ""] = /^module "tidemark" \{\n([^]*?)^\}/m.exec(text) ?? [];
  const inputs = Array.from(inside.matchAll(/^ {2}(\w+) += /gm), ([, name = ""]) => name);
  expect(inputs).toContain("deployment");
  for (const name of inputs.filter((each) => each !== "source")) {
    expect(variables).toContain(`variable "${name}" {`);
  }
});

describe("nothing is overwritten", () => {
  test.each(expected)("%s, if it is there, is named, and nothing is written", async (file) => {
    mkdirSync(within(file, ".."), { recursive: true });
    writeFileSync(within(file), "mine");
    const { code, out, err } = await init("--name", "shop");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(`${within(file)} is there already; nothing is overwritten`);
    expect([filesOf(folder), read(file)]).toEqual([[basename(file)], "mine"]);
  });

  test("nor is a file in a folder's place, or a link that leads nowhere", async () => {
    writeFileSync(within("infra"), "mine");
    const taken = await init("--name", "shop", "--json");
    expect([taken.code, JSON.parse(taken.err)]).toEqual([
      2,
      {
        error: {
          ...{ code: "invalid-request", field: "dir" },
          message: expect.stringContaining(`${within("infra")} is no folder`) as string,
        },
      },
    ]);
    rmSync(within("infra"));
    symlinkSync(within("nowhere"), within("tsconfig.json"));
    expect((await init("--name", "shop")).err).toContain(`${within("tsconfig.json")} is there al`);
    expect(readdirSync(folder)).toEqual(["tsconfig.json"]);
  });

  test("nor is a file as the folder itself; a link to a folder is one", async () => {
    writeFileSync(within("shop"), "mine");
    const { code, err } = await init("shop");
    expect([code, err]).toEqual([2, expect.stringContaining("is there already, and is no folder")]);
    mkdirSync(within("real"));
    symlinkSync(within("real"), within("link"));
    expect((await init("link")).code).toBe(0);
    expect(filesOf(within("real"))).toHaveLength(expected.length);
  });

  test("nor what somebody writes meanwhile", () => {
    const files = new Map([
      ["a", "1"],
      ["A/../a", "2"],
    ]);
    mkdirSync(within("A"));
    expect(() => {
      writeProject(folder, files);
    }).toThrow(/a is there already/);
    expect(read("a")).toBe("1");
  });
});

test("what the system refuses is said in one line", async () => {
  const { code, err } = await init(`${"a/".repeat(3)}${"n".repeat(300)}/shop`);
  expect(code).toBe(1);
  expect(err).toMatch(/^tidemark: cannot write the project: ENAMETOOLONG.*\n$/);
});

describe("a name", () => {
  test.each(["a", "7", "shop", "shop-2", "s".repeat(30)])("%s is one", async (name) => {
    expect((await init("new", "--name", name)).code).toBe(0);
  });

  test.each([
    ["My Shop", "my-shop"],
    ["_shop.", "shop"],
    ["-", "my-app"],
    ["../up", "up"],
    ["s".repeat(31), "s".repeat(30)],
    ["tidemark", "my-tidemark"],
    ["vitest", "my-vitest"],
  ])("%s is none; another is suggested", async (name, suggestion) => {
    const { code, out, err } = await init(`--name=${name}`);
    expect([code, out, readdirSync(folder)]).toEqual([2, "", []]);
    expect(err).toContain(`--name ${suggestion}\n`);
  });

  test("that the folder has is not taken if it is none", async () => {
    const { code, err } = await init("My Shop");
    expect([code, err]).toEqual([2, expect.stringMatching(/"My Shop" .* --name my-shop\n$/)]);
    expect(existsSync(within("My Shop"))).toBe(false);
    expect((await init("My Shop", "--name", "my-shop")).out).toContain("cd 'My Shop' && npm pack");
  });
});
