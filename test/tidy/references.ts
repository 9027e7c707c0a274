/**
 * References in prose and comments, checked against the tree: links to files and to headings, paths
 * that documents mention, and numbered sections of docs/protocol.md.
 */
import { dirname, join, normalize } from "node:path/posix";
import type { Tree } from "./source-facts.ts";

type Folders = ReadonlySet<string>;

/** What is said of a document that nobody who has the repository can open. */
const outside = /\bDESIGN(?: §|\.md)|\b(?:[Aa]s in|from) the (?:original )?design\b|\(design §/gu;

export function outsideViolations(tracked: Tree): string[] {
  const found: string[] = [];
  for (const [path, text] of tracked) {
    for (const [words] of proseOf(path, text).matchAll(outside)) {
      found.push(`${path}: refers to a document outside of the repository: ${words}`);
    }
  }
  return found;
}

/** Relative links of Markdown files lead to a file, and to a heading that is there. */
export function linkViolations(tracked: Tree): string[] {
  const folders = foldersOf(tracked);
  const found: string[] = [];
  for (const [path, text] of markdownOf(tracked)) {
    for (const [, link = ""] of withoutFences(text).matchAll(/\]\(([^)\s]+)\)/gu)) {
      if (/^[a-z]+:/u.test(link)) continue;
      const [file = "", heading] = link.split("#");
      const target = file === "" ? path : normalize(join(dirname(path), file));
      const content = tracked.get(target);
      if (content === undefined && !folders.has(target.replace(/\/$/u, ""))) {
        found.push(`${path}: no file for the link ${link}`);
      } else if (heading !== undefined && !headings(content ?? "").has(heading)) {
        found.push(`${path}: no heading for the link ${link}`);
      }
    }
  }
  return found;
}

/** Files of the repository by their whole path; a star stands for part of a name. */
const mention = /(?<![\w./@-])((?:[\w.-]+\/)+[\w.*-]+\.(?:ts|md|tf|tla|json|sh))(?![\w/*-])/gu;

/** The same for folders, and for files of other kinds, as they are set in prose. */
const quoted = /`((?:[\w.-]+\/)+[\w.-]*)`/gu;

/**
 * Paths of the repository, as prose and comments name them, exist. Only those that begin at the
 * root count: `src/app.ts` is a file of the reader's own.
 */
export function mentionViolations(tracked: Tree): string[] {
  const topFolders = new Set(Array.from(tracked.keys(), (path) => path.split("/")[0]));
  const folders = foldersOf(tracked);
  const found: string[] = [];
  for (const [path, text] of tracked) {
    const prose = proseOf(path, text);
    const mentioned = [...prose.matchAll(mention), ...prose.matchAll(quoted)].map(
      ([, it = ""]) => it,
    );
    for (const each of new Set(mentioned)) {
      if (!topFolders.has(each.split("/")[0] ?? "")) continue;
      const places = [each, normalize(join(dirname(path), each))];
      const isThere = (place: string): boolean =>
        exists(place, tracked) || folders.has(place.replace(/\/$/u, ""));
      if (!places.some(isThere)) found.push(`${path}: no file ${each}`);
    }
  }
  return found;
}

/** A name of two words or more, as code spells it. */
const term = /`((?:[a-z][a-z\d]*|[A-Z][a-z\d]+)(?:[A-Z][a-z\d]*)+)(?:\(\))?`/gu;

/** Names that documents quote from the code are still in it. */
export function termViolations(tracked: Tree): string[] {
  const words = new Set<string>();
  for (const [path, text] of tracked) {
    if (path.endsWith(".md")) continue;
    for (const [word] of text.matchAll(/[A-Za-z][A-Za-z\d]*/gu)) words.add(word);
  }
  const found: string[] = [];
  for (const [path, text] of markdownOf(tracked)) {
    const named = Array.from(withoutFences(text).matchAll(term), ([, name = ""]) => name);
    for (const name of new Set(named)) {
      if (!words.has(name)) found.push(`${path}: no code has ${name}`);
    }
  }
  return found;
}

function exists(path: string, tracked: Tree): boolean {
  if (!path.includes("*")) return tracked.has(path);
  const pattern = path.replace(/[.]/gu, "\\$&").replace(/\*/gu, "[^/]*");
  return Array.from(tracked.keys()).some((file) => new RegExp(`^${pattern}$`, "u").test(file));
}

/** Commands that documents tell the reader to run are scripts of the package. */
export function commandViolations(tracked: Tree, scripts: ReadonlySet<string>): string[] {
  const found: string[] = [];
  for (const [path, text] of markdownOf(tracked)) {
    for (const [, script = ""] of text.matchAll(/\bnpm run (?:--silent )?([a-z][\w:-]*)/gu)) {
      if (!scripts.has(script)) found.push(`${path}: no script for npm run ${script}`);
    }
  }
  return found;
}

const protocol = "docs/protocol.md";
/** `protocol.md §3`, `protocol.md §5, §7`, `protocol.md §6 to §8`, `protocol.md), section 3`. */
const section = /protocol\.md[)\]]*,? (?:§|section )(\d+(?:(?:, | and | to |, and )§\d+)*)/gu;
/** `protocol.md §3, Rebuild`: a heading within the section. */
const subsection = /protocol\.md §(\d+), ([A-Z][a-z]+(?: [a-z]+)*)/gu;

/** Sections of docs/protocol.md that anything refers to by number, or by its own heading, exist. */
export function sectionViolations(tracked: Tree): string[] {
  const sections = sectionsOf(tracked.get(protocol) ?? "");
  const found: string[] = [];
  for (const [path, text] of tracked) {
    const line = joined(text);
    const references: string[] = line.match(section) ?? [];
    if (path === protocol) references.push(...(line.match(/\bsection \d+/gu) ?? []));
    for (const number of references.flatMap((reference) => reference.match(/\d+/gu) ?? [])) {
      if (!sections.has(number)) found.push(`${path}: docs/protocol.md has no section ${number}`);
    }
    for (const [, number = "", words = ""] of line.matchAll(subsection)) {
      const named = sections.get(number) ?? [];
      if (named.some((heading) => words.startsWith(heading))) continue;
      found.push(`${path}: docs/protocol.md §${number} has no heading ${words}`);
    }
  }
  return found;
}

const invariantRow = /^\| \*\*(I\d+)\*\*.*$/gmu;

/**
 * Every invariant that an assertion names is in the table of docs/protocol.md, and every file that
 * the table names for one speaks of it.
 */
export function invariantViolations(tracked: Tree): string[] {
  const rows = Array.from((tracked.get(protocol) ?? "").matchAll(invariantRow));
  const known = new Set(rows.map(([, invariant]) => invariant));
  const found: string[] = [];
  for (const [row, invariant = ""] of rows) {
    for (const [, path = ""] of row.matchAll(/`([\w/.-]+\.ts)`/gu)) {
      const speaks = new RegExp(`\\b${invariant}\\b`, "u").test(tracked.get(path) ?? "");
      if (!speaks) found.push(`${protocol}: ${path} does not speak of ${invariant}`);
    }
  }
  for (const [path, text] of tracked) {
    if (!path.endsWith(".ts") || path.startsWith("test/")) continue;
    for (const [, invariant = ""] of text.matchAll(/assert\([^;]*?"(I\d+): /gu)) {
      if (!known.has(invariant)) found.push(`${path}: asserts ${invariant}, which no table has`);
    }
  }
  return found;
}

/** Number of each section → its inner headings. */
function sectionsOf(text: string): Map<string, string[]> {
  const sections = new Map<string, string[]>();
  let inner: string[] = [];
  for (const [, marks = "", title = ""] of withoutFences(text).matchAll(/^(#{2,3}) (.+)$/gmu)) {
    const number = /^(\d+)\. /u.exec(title)?.[1];
    if (marks === "##") inner = [];
    if (marks === "##" && number !== undefined) sections.set(number, inner);
    if (marks === "###") inner.push(title);
  }
  return sections;
}

function markdownOf(tracked: Tree): [string, string][] {
  return Array.from(tracked).filter(([path]) => path.endsWith(".md"));
}

function foldersOf(tracked: Tree): Folders {
  const folders = new Set<string>(["."]);
  for (const path of tracked.keys()) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
      folders.add(path.slice(0, at));
    }
  }
  return folders;
}

/** Headings as links name them: lower case, no punctuation, dashes for spaces. */
function headings(text: string): Set<string> {
  const found = new Set<string>();
  for (const [, title = ""] of withoutFences(text).matchAll(/^#{1,6} (.+)$/gmu)) {
    const words = title.toLowerCase().replace(/\]\([^)]*\)/gu, "");
    found.add(words.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/gu, "-"));
  }
  return found;
}

/** What stands between fences is an example. */
function withoutFences(text: string): string {
  return text.replace(/^(```|~~~)[\s\S]*?^\1$/gmu, "");
}

/** Markdown outside of fences; comments of code. */
function proseOf(path: string, text: string): string {
  if (path.endsWith(".md")) return withoutFences(text);
  if (path.endsWith(".ts"))
    return joined((text.match(/^\s*(?:\/\/|\/?\*).*$/gmu) ?? []).join("\n"));
  return "";
}

/** One line, without what begins the lines of a comment: a reference may be broken anywhere. */
function joined(text: string): string {
  return text.replace(/\s*\n\s*(?:\/\/|\*|#|\(\*)?\s*/gu, " ");
}
