/**
 * Packs Tidemark as `npm publish` would, and installs the tarball into empty projects. Nothing is
 * fetched: the package has no dependencies, and its peers are linked from the repository's own
 * node_modules once a project asks for them, so a project can also show how it fares without.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const root = join(import.meta.dirname, "..", "..");

export type ModuleSystem = "esm" | "cjs";

/** Output of a finished command, whatever its exit code. */
export type Finished = { readonly exitCode: number; readonly output: string };

/** What npm and vitest set for their own children must not reach a user's project. */
function userEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS|VITEST)/i.test(name)),
  );
}

/** A command that hangs is ended, and named, before its test is given up. */
const commandMsMax = 150_000;

export async function execute(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string },
): Promise<Finished> {
  try {
    const env = userEnvironment();
    const { cwd } = options;
    const { stdout, stderr } = await run(command, args, { cwd, env, timeout: commandMsMax });
    return { exitCode: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (typeof code !== "number") throw error;
    return { exitCode: code, output: `${stdout ?? ""}${stderr ?? ""}` };
  }
}

/** A command that goes on. */
export type Started = {
  readonly output: () => string;
  readonly errors: () => string;
  readonly signal: (name: NodeJS.Signals) => boolean;
  readonly ended: Promise<number | null>;
};

export async function mustSucceed(finished: Promise<Finished>): Promise<string> {
  const { exitCode, output } = await finished;
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}:\n${output}`);
  return output;
}

/** Builds and packs the repository. Returns the tarball's path and a function that removes it. */
export async function packRepository(): Promise<{ tarball: string; remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-pack-"));
  await mustSucceed(execute("npm", ["pack", "--pack-destination", folder], { cwd: root }));
  const [name] = readdirSync(folder).filter((file) => file.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack left no tarball");
  const remove = (): void => {
    rmSync(folder, { recursive: true, force: true });
  };
  return { tarball: join(folder, name), remove };
}

/** An empty project of a user, with the tarball installed. */
export class Project {
  readonly folder: string;
  /** A cache of its own: the user's is shared with every other npm that runs at the time. */
  readonly #npmCache: string;
  readonly #children: ChildProcess[] = [];

  private constructor(folder: string) {
    this.folder = folder;
    this.#npmCache = mkdtempSync(join(tmpdir(), "tidemark-npm-cache-"));
  }

  static async create(options: { system: ModuleSystem; tarball: string }): Promise<Project> {
    const project = new Project(mkdtempSync(join(tmpdir(), `tidemark-${options.system}-`)));
    const type = options.system === "esm" ? "module" : "commonjs";
    project.write("package.json", JSON.stringify({ name: "consumer", private: true, type }));
    const flags = ["--offline", "--legacy-peer-deps", "--no-audit", "--no-fund"];
    const install = ["install", "--cache", project.#npmCache, ...flags, options.tarball];
    await mustSucceed(execute("npm", install, { cwd: project.folder }));
    return project;
  }

  get packageFolder(): string {
    return join(this.folder, "node_modules", "tidemark");
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /**
   * Makes packages of the repository's node_modules, or whole scopes, the project's own; once is
   * enough.
   */
  link(...names: readonly string[]): void {
    for (const name of names) {
      const target = join(this.folder, "node_modules", name);
      if (existsSync(target)) continue;
      mkdirSync(join(target, ".."), { recursive: true });
      symlinkSync(join(root, "node_modules", name), target);
    }
  }

  /** Writes and runs a script; returns what it printed. @throws when it fails. */
  script(name: string, text: string, node = process.execPath): Promise<string> {
    this.write(name, text);
    return mustSucceed(execute(node, ["--no-warnings", name], { cwd: this.folder }));
  }

  /** Starts a command that goes on until it is told to stop; `remove` kills it at the latest. */
  spawn(command: string, args: readonly string[]): Started {
    const child = spawn(command, args, {
      ...{ cwd: this.folder, env: userEnvironment() },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#children.push(child);
    const texts = { output: "", errors: "" };
    child.stdout.on("data", (chunk: Buffer) => (texts.output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (texts.errors += chunk.toString()));
    return {
      output: () => texts.output,
      errors: () => texts.errors,
      signal: (name) => child.kill(name),
      ended: new Promise((resolve) => child.once("close", resolve)),
    };
  }

  /** Writes and type checks one file with these compiler options. */
  typeCheck(
    name: string,
    options: { readonly text: string; readonly flags: readonly string[] },
  ): Promise<Finished> {
    this.write(name, options.text);
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    const flags = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2023"];
    return execute(
      process.execPath,
      [compiler, "--ignoreConfig", ...flags, ...options.flags, name],
      { cwd: this.folder },
    );
  }

  remove(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    for (const folder of [this.folder, this.#npmCache]) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
