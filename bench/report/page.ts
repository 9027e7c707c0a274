/**
 * One HTML file that needs nothing else: style, data, and the drawing code with its chart library
 * (Chart.js) inside.
 */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { ChartSpec, Section, TableSpec } from "./chart-spec.ts";

const style = `
:root { color-scheme: light dark; --ink: #222; --faint: #666; --line: #ddd; --paper: #fff; }
:root { --good: #0a6d3c; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --faint: #999; --line: #444; --paper: #181818; }
  :root { --good: #5bd392; --bad: #ff8a80; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { margin: 2rem auto; max-width: 1160px; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; margin-bottom: 0.2rem; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 0.4rem; padding-top: 1.2rem; }
h2 { border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0 0 0.5rem; }
p { margin: 0.4rem 0; max-width: 78ch; }
.faint { color: var(--faint); }
.charts { display: grid; gap: 1.6rem 1.8rem; margin-top: 1rem; }
.charts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 500px), 1fr)); }
.wide { grid-column: 1 / -1; min-width: 0; }
figure { margin: 0; min-width: 0; }
.chart { position: relative; height: 330px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
table { font-variant-numeric: tabular-nums; font-size: 13.5px; }
th, td { text-align: right; padding: 0.3rem 0.7rem; vertical-align: top; }
th, td { border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
th.text, td.text { text-align: left; }
.met { color: var(--good); font-weight: 600; }
.missed { color: var(--bad); font-weight: 600; }
`;

export async function pageOf(page: {
  readonly title: string;
  readonly summary: readonly string[];
  readonly sections: readonly Section[];
}): Promise<string> {
  const script = await browserScript();
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(page.title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(page.title)}</h1>
${page.summary.map((line) => `<p class="faint">${escaped(line)}</p>`).join("\n")}
${page.sections.map(sectionHtml).join("\n")}
<script type="module">${script}</script>
</body>
</html>
`;
}

/** Only what is drawn with comes along. */
async function browserScript(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("browser.ts", import.meta.url))],
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    legalComments: "inline",
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error("the report's script was not built");
  // Whatever a library holds, the page's script ends where the page says.
  return output.text.replaceAll("</script", "<\\/script");
}

function sectionHtml({ title, text, parts }: Section): string {
  const body = parts.map((part) =>
    part.kind === "chart" ? chartHtml(part.chart) : tableHtml(part.table),
  );
  return `<section>
<h2>${escaped(title)}</h2>
${text.map((line) => `<p>${escaped(line)}</p>`).join("\n")}
<div class="charts">
${body.join("\n")}
</div>
</section>`;
}

/** More labels than these stand slanted in half the page. */
const labelsOfNarrowMax = 7;

function chartHtml(chart: ChartSpec): string {
  const data = escaped(JSON.stringify(chart));
  const label = escaped(`${chart.title}, ${chart.unit}`);
  const wide = chart.labels.length > labelsOfNarrowMax ? ` class="wide"` : "";
  const canvas = `<canvas role="img" aria-label="${label}" data-chart="${data}"></canvas>`;
  return `<figure${wide}><h3>${escaped(chart.title)}</h3>
<div class="chart">${canvas}</div></figure>`;
}

const verdictClasses: ReadonlyMap<string, string> = new Map([
  ["met", "met"],
  ["missed", "missed"],
]);

function tableHtml({ title, head, rows }: TableSpec): string {
  // A column of words is read from its left, one of figures from its right.
  const kinds = head.map((_, column) =>
    rows.some((row) => /[a-z]{3}/i.test(row[column] ?? "")) ? "text" : "figure",
  );
  const cell = (text: string, column: number): string => {
    const kind = verdictClasses.get(text) ?? "";
    return `<td class="${kinds[column] ?? "figure"} ${kind}">${escaped(text)}</td>`;
  };
  const heads = head.map(
    (text, column) => `<th class="${kinds[column] ?? "figure"}">${escaped(text)}</th>`,
  );
  return `<div class="wide">${title === undefined ? "" : `<h3>${escaped(title)}</h3>`}
<div class="scroll"><table>
<thead><tr>${heads.join("")}</tr></thead>
<tbody>
${rows.map((row) => `<tr>${row.map(cell).join("")}</tr>`).join("\n")}
</tbody>
</table></div></div>`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
