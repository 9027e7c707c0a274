/**
 * Traces: scenarios as text, each command with its answer below it. A file is played by running its
 * commands and writing the answers anew; a test compares the text with the file.
 *
 *     # §3, rule 8: what the scenario shows.      a comment that names the rule, then
 *     oracle from 100                             the machine that the scenario is about
 *     record 1 arrives 120                        a command,
 *       A serializable checked-to 100 writes x    with lines of its own
 *     => block 1: through 120, cursor 1           the golden answer
 */
import { TraceError, Words } from "./words.ts";

/** One command and the indented lines that belong to it. */
export type Command = { readonly head: Words; readonly lines: readonly Words[] };

/** The machine of a scenario: takes a command, gives its answer. */
export type Machine = (command: Command) => readonly string[];

/** Makes a machine from the arguments of the line that begins a scenario. */
export type Machines = ReadonlyMap<string, (head: Words) => Machine>;

const answerMark = "=>";

/** The text of a trace with the answers that today's code gives. */
export function play(text: string, machines: Machines): string {
  const lines = text.split("\n").map((line, at) => ({ text: line.trimEnd(), number: at + 1 }));
  const kept = lines.filter((line) => !line.text.startsWith(answerMark));
  const played: string[] = [];
  let machine: Machine | undefined;
  for (let at = 0; at < kept.length; at++) {
    const line = kept[at];
    if (line === undefined) break;
    played.push(line.text);
    if (line.text === "" || line.text.startsWith("#")) continue;
    const head = new Words(line);
    if (line.text.startsWith(" ")) throw new TraceError(line.number, "belongs to no command");
    const own: Words[] = [];
    for (let next = kept[at + 1]; next?.text.startsWith(" ") === true; next = kept[at + 1]) {
      played.push(next.text);
      own.push(new Words(next));
      at += 1;
    }
    const begin = machines.get(head.peek());
    if (begin !== undefined) {
      requireRule(kept.slice(0, kept.indexOf(line)), line.number);
      head.next("a machine");
      machine = begin(head);
      head.end();
      continue;
    }
    if (machine === undefined) {
      throw new TraceError(
        line.number,
        `a scenario begins with ${[...machines.keys()].join(", ")}`,
      );
    }
    for (const answer of machine({ head, lines: own })) played.push(`${answerMark} ${answer}`);
  }
  return played.join("\n");
}

/** The comment right above a scenario says which rule it shows. */
function requireRule(before: readonly { readonly text: string }[], line: number): void {
  const first = before.findLastIndex(({ text }) => !text.startsWith("#")) + 1;
  if (before.slice(first).some(({ text }) => /^# §\d/u.test(text))) return;
  throw new TraceError(line, "the comment above a scenario names its rule: # §3, …");
}
