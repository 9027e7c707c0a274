/**
 * The page: one file without a request beside it, as the package carries it, or in a clone built
 * from its sources when it is first asked for. Its policy lets nothing run but what stands in it.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type Page = { readonly html: string; readonly policy: string };

/** @param file as the package carries it; undefined: it is built now. */
export async function loadPage(file: string | undefined): Promise<Page> {
  const html =
    file === undefined
      ? await (await import("../bundle-page.ts")).bundlePage()
      : readFileSync(file, "utf8");
  return { html, policy: policyFor(html) };
}

/** Beside the built programs; undefined in a clone. */
export function builtPage(): string | undefined {
  const file = fileURLToPath(new URL("./console.html", import.meta.url));
  return existsSync(file) ? file : undefined;
}

function policyFor(html: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashes(html, "script")}`,
    `style-src ${hashes(html, "style")}`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}

function hashes(html: string, tag: "script" | "style"): string {
  const blocks = html.matchAll(new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, "gsu"));
  return Array.from(blocks, ([, content = ""]) => {
    const digest = createHash("sha256").update(content).digest("base64");
    return `'sha256-${digest}'`;
  }).join(" ");
}
