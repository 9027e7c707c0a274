/**
 * docs/hermitage.md, made from the interleavings: the page says what the tests have seen, and
 * nothing else.
 */
import { formatMarkdown } from "../../../scripts/format-markdown.ts";
import { anomalies, type Anomaly, type Gave, type Interleaving } from "./interleaving.ts";
import { interleavings } from "./interleavings.ts";
import { givesAt, type Level, levels, type Step, textOf } from "./script.ts";

/** The results of a script by step. A step that comes again is told apart by its number. */
export function gaveBy(steps: readonly Step[], results: readonly string[]): Map<string, string> {
  const gave = new Map<string, string>();
  steps.forEach((step, i) => {
    let name = textOf(step);
    for (let nth = 2; gave.has(name); nth += 1) name = `${textOf(step)} (${nth.toString()})`;
    gave.set(name, results[i] ?? "");
  });
  return gave;
}

export function expectedAt({ steps }: Interleaving, level: Level): Map<string, string> {
  return gaveBy(
    steps,
    steps.map((step) => givesAt(step, level)),
  );
}

/** Whether no interleaving of the anomaly shows it at this level. */
export function isPrevented(anomaly: Anomaly, level: Level): boolean {
  return interleavings
    .filter((each) => each.anomaly === anomaly)
    .every((each) => {
      const results = expectedAt(each, level);
      const gave: Gave = (step) => results.get(step);
      return !each.occurs(gave);
    });
}

const introduction = `# Hermitage

[Hermitage](https://github.com/ept/hermitage) is Martin Kleppmann's suite of interleavings that tell
isolation levels apart. Here it runs through the SDK on the embedded stack: two or three clients,
each with a process's own connection, tail and poller, one step at a time. Every result below is
asserted by \`test/integration/hermitage/\`, at both isolation levels, on tables with and without
history, with \`select\` made of a scan and of a query, with conflicts found by the oracle and by
the client's own tail; this page is written from the same data.

✓ means that the anomaly does not occur, – that it can. These are the columns that Hermitage gives
to "serializable" and to "snapshot isolation".
`;

const notes = `
Two things differ from a database with locks.

- Writes are buffered until the commit. Where Hermitage notes "BLOCKS", here nothing waits: the
  later committer fails with a \`ConflictError\` that names table and key (or the partition or table
  whose predicate was hurt), and \`transact\` runs its body again. The scripts allow one attempt, so
  that the conflict shows.
- A read timestamp is taken at the first read, or a little before, and moves forward as long as
  nothing read has changed. A read that cannot be made consistent with the earlier ones fails at
  once, serializable; under snapshot isolation it is served from history, and on a table without
  history fails: with \`ConflictError\` for a row, \`SnapshotTooOldError\` for a query or scan. Both
  are retried alike.

The table holds 1 → 10 and 2 → 20 at first. A \`put\` writes blindly; an \`update\` reads its row;
\`add\` and \`delete\` read what their condition selects. A result in brackets is that of a table
without history, where it differs.
`;

export async function hermitagePage(): Promise<string> {
  const page = [
    introduction,
    ...matrix(),
    notes,
    ...anomalies.flatMap(([anomaly, meaning]) => [
      `## ${anomaly}: ${meaning}\n`,
      ...interleavings.filter((each) => each.anomaly === anomaly).map(section),
    ]),
  ];
  return formatMarkdown(page.join("\n"));
}

function matrix(): string[] {
  const mark = (anomaly: Anomaly, level: Level): string =>
    isPrevented(anomaly, level) ? "✓" : "–";
  return [
    `| anomaly | | ${levels.join(" | ")} |`,
    "| --- | --- | :-: | :-: | :-: |",
    ...anomalies.map(([anomaly, meaning]) =>
      [`| ${anomaly}`, meaning, ...levels.map((level) => mark(anomaly, level))]
        .join(" | ")
        .concat(" |"),
    ),
  ];
}

function section(interleaving: Interleaving): string {
  const { title, elsewhere, here, steps } = interleaving;
  return [
    `### ${title.charAt(0).toUpperCase()}${title.slice(1)}\n`,
    "| step | serializable | snapshot |",
    "| --- | --- | --- |",
    ...steps.map((step) => `| ${textOf(step)} | ${cells(step)} |`),
    `\n*Hermitage:* ${elsewhere}\n\n*Tidemark:* ${here}\n`,
  ].join("\n");
}

function cells(step: Step): string {
  const [serializable, snapshot, without] = levels.map((level) => givesAt(step, level));
  const inBrackets = snapshot === without ? "" : ` (${without === "" ? "–" : (without ?? "")})`;
  return `${serializable ?? ""} | ${snapshot ?? ""}${inBrackets}`;
}
