/**
 * The oldest AWS SDK that the package allows beside it, in a folder of its own, for programs that
 * use it. It is installed there, since nothing else needs it.
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import packageJson from "../../package.json" with { type: "json" };

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

export class FloorSdk {
  readonly version = packageJson.peerDependencies["@aws-sdk/client-dynamodb"].replace("^", "");
  /** Why it is not there; undefined: it is. */
  readonly missing: string | undefined;
  readonly #folder = mkdtempSync(join(tmpdir(), "tidemark-floor-"));

  constructor() {
    this.missing = this.#whyNot();
    if (this.missing !== undefined) console.warn(`SKIPPED: at the peer floor: ${this.missing}`);
  }

  #whyNot(): string | undefined {
    const manifest = { name: "floor", private: true };
    writeFileSync(join(this.#folder, "package.json"), JSON.stringify(manifest));
    const names = ["client-dynamodb", "lib-dynamodb"];
    const packages = names.map((name) => `@aws-sdk/${name}@${this.version}`);
    try {
      const flags = ["--no-audit", "--no-fund", "--prefer-offline"];
      const options = { cwd: this.#folder, stdio: "pipe" } as const;
      execFileSync("npm", ["install", ...flags, ...packages], options);
      return undefined;
    } catch (error) {
      const why = (error as Error).message.slice(0, 200);
      return `AWS SDK ${this.version} cannot be installed here: ${why}`;
    }
  }

  /** Makes an entry of the package loadable by programs, as `./name`. */
  async bundle(name: string, ...entry: readonly string[]): Promise<void> {
    await build({
      entryPoints: [join(root, ...entry)],
      outfile: join(this.#folder, name),
      ...({ bundle: true, format: "cjs", platform: "node", logLevel: "silent" } as const),
      external: ["@aws-sdk/*"],
    });
  }

  /** What the program prints, as JSON. */
  async run(program: string, given: unknown): Promise<unknown> {
    writeFileSync(join(this.#folder, "program.cjs"), program);
    const args = ["program.cjs", JSON.stringify(given)];
    const { stdout } = await run(process.execPath, args, { cwd: this.#folder });
    return JSON.parse(stdout);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
