/**
 * `npm run question-pages`: writes the examples into the pages of docs/questions. Each page shows
 * one file of examples/questions whole, as an application has it; tests run that file.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "docs", "questions");

/** Each page's path and the text that it should have. */
export function questionPages(): ReadonlyMap<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".md") && name !== "README.md");
  return new Map(names.sort().map((name) => [join(folder, name), textOf(name)]));
}

function textOf(name: string): string {
  const text = readFileSync(join(folder, name), "utf8");
  const place = /(<!-- example: begin -->).*?(<!-- end -->)/su;
  if (!place.test(text)) throw new Error(`docs/questions/${name} has no place for its example`);
  const path = join(root, "examples", "questions", name.replace(/\.md$/u, ".ts"));
  const code = readFileSync(path, "utf8").replaceAll('"../../sdk/index.ts"', '"tidemark"').trim();
  return text.replace(
    place,
    (_, begin: string, end: string) => `${begin}\n\n\`\`\`ts\n${code}\n\`\`\`\n\n${end}`,
  );
}

function main(): void {
  for (const [path, text] of questionPages()) writeFileSync(path, text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
