/** Builds the console's page into one HTML file: script and style stand in it. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, type Metafile } from "esbuild";

const folder = fileURLToPath(new URL("./page/", import.meta.url));

export async function bundlePage(): Promise<string> {
  return (await builtPage()).html;
}

/** Also of what it was made. */
export async function builtPage(): Promise<{ readonly html: string; readonly metafile: Metafile }> {
  const { outputFiles, metafile, warnings } = await build({
    entryPoints: [`${folder}main.tsx`],
    absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
    outdir: "page",
    bundle: true,
    metafile: true,
    minify: true,
    // The package says of its modules that they do nothing by themselves; some of the page's do.
    ignoreAnnotations: true,
    format: "iife",
    platform: "browser",
    target: ["chrome111", "firefox113", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    write: false,
    logLevel: "silent",
  });
  const [warning] = warnings;
  if (warning !== undefined) throw new Error(`console/page: ${warning.text}`);
  const contentOf = (ending: string): string =>
    outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
  const html = readFileSync(`${folder}index.html`, "utf8");
  // As functions, since a script holds `$&` and its like.
  const whole = html
    .replace("<!-- style -->", () => `<style>${contentOf(".css")}</style>`)
    .replace("<!-- script -->", () => `<script type="module">${contentOf(".js")}</script>`);
  return { html: whole, metafile };
}
