/**
 * `npm run docs`: builds `site/`, which needs no network: the API of every entry by TypeDoc, and
 * all pages of `docs/` beside it, with one search over both. Fails on a warning: a link that leads
 * nowhere, an example that is not code.
 */
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  Application,
  Converter,
  type Context,
  type DocumentReflection,
  Logger,
  LogLevel,
  PageEvent,
  type ProjectReflection,
  type TypeDocOptions,
} from "typedoc";
import { deadLinks } from "./dead-links.ts";
import { entrySources } from "./public-api.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

const options: TypeDocOptions = {
  name: "Tidemark",
  entryPoints: Object.values(entrySources).map((path) => join(root, path)),
  tsconfig: join(root, "tsconfig.json"),
  projectDocuments: [
    ...["docs/questions/*.md", "docs/*.md", "docs/formats/*.md", "docs/adr/*.md"],
    ...["examples/README.md", "localstack/README.md", "infra/terraform/README.md"],
    ...["bench/README.md", "model/README.md", "CONTRIBUTING.md", "CHANGELOG.md"],
  ].map((pattern) => join(root, pattern)),
  readme: join(root, "README.md"),
  customCss: join(root, "scripts", "docs-site.css"),
  plugin: [],
  // There is no address to link sources to, and none in the package's own.
  disableSources: true,
  disableGit: true,
  excludeInternal: true,
  excludePrivate: true,
  // The compiler has its own say (`npm run typecheck`).
  skipErrorChecking: true,
  highlightLanguages: ["typescript", "json", "jsonc", "sh", "python", "hcl", "mermaid", "http"],
  // Types that public ones are made of are shown where they are used. Links to files are checked
  // when all pages are written (dead-links.ts), and by test/tidy.test.ts.
  validation: { notExported: false, invalidLink: true, invalidPath: false, rewrittenLink: true },
  searchInComments: true,
  searchInDocuments: true,
  // By what they are, as in the code.
  sort: ["kind", "source-order"],
  navigation: { includeCategories: false, includeGroups: false, includeFolders: false },
  githubPages: false,
};

/** A page is called by its heading, as its readers know it. */
function nameByHeading(_: Context, page: DocumentReflection): void {
  const heading = page.content.find(({ kind }) => kind === "text")?.text;
  const title = /^# (.+)$/mu.exec(heading ?? "")?.[1];
  if (title !== undefined) page.name = title.replaceAll("`", "");
}

/** A link to a folder leads to the page of the nearest README, if there is one below the root's. */
function leadFoldersToPages({ files, documents = [] }: ProjectReflection): void {
  const pages = new Map(documents.map((page) => [files.getReflectionPath(page), page]));
  for (const path of files.getMediaPaths()) {
    if (!statSync(path).isDirectory()) continue;
    for (let folder: string = path; folder.length > root.length; folder = dirname(folder)) {
      const page = pages.get(`${folder}/README.md` as never);
      if (page === undefined) continue;
      files.registerReflectionPath(path, page);
      break;
    }
  }
}

/** What is opened from a disk has nobody who knows which page a folder's address means. */
function nameFirstPage(page: PageEvent): void {
  page.contents = (page.contents ?? "").replace(
    /(?<= href="(?:\.{1,2}\/)+)(?=[#"])/gu,
    "index.html",
  );
}

/** Documents that a page links to and that are none: they lie there as they are written. */
function unmadePages(out: string): readonly string[] {
  const media = readdirSync(join(out, "media")).filter((name) => name.endsWith(".md"));
  return media.map((name) => `media/${name} is no page: name its document in projectDocuments`);
}

/** @returns what it warns of, pages that it lacks, and links that lead nowhere. */
export async function buildSite(out: string): Promise<readonly string[]> {
  const app = await Application.bootstrap({ ...options, out });
  const complaints: string[] = [];
  app.logger = new (class extends Logger {
    override log(message: string, level: LogLevel): void {
      if (level >= LogLevel.Warn) complaints.push(message);
    }
  })();
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, nameByHeading as never);
  const project = await app.convert();
  if (project === undefined) return [...complaints, "the API could not be read"];
  leadFoldersToPages(project);
  app.validate(project);
  app.renderer.on(PageEvent.END, nameFirstPage);
  await app.generateOutputs(project);
  return [...complaints, ...unmadePages(out), ...deadLinks(out)];
}

async function main(): Promise<void> {
  const complaints = await buildSite(join(root, "site"));
  for (const complaint of complaints) console.error(complaint);
  if (complaints.length > 0) process.exitCode = 1;
  else console.log("site/index.html");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
