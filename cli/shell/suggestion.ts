/**
 * What a word was meant for that is no command. Commander says so of commands alone: where a
 * default command takes words of its own, or none, it takes the misspelt one for an argument.
 */
import type { Command } from "commander";

/** Stricter than Commander, for which no other word is right: `refund` is no `resume`. */
const tolerated = 2;
const alike = 0.6;

/** The most similar of these; undefined: none is similar, or it is one of them. */
export function similarTo(word: string, names: readonly string[]): string | undefined {
  if (word.length < 2 || names.includes(word)) return undefined;
  const found = names
    .map((name) => ({ name, distance: distanceOf(word, name) }))
    .filter(({ name, distance }) => {
      const length = Math.max(word.length, name.length);
      return distance <= tolerated && (length - distance) / length > alike;
    })
    .sort((a, b) => a.distance - b.distance);
  return found[0]?.name;
}

/** Of the commands beside that one, as they are typed: "tidemark base cancel". */
export function similarCommand(command: Command, word: string): string | undefined {
  const { parent } = command;
  if (parent === null) return undefined;
  const name = similarTo(
    word,
    parent.commands.map((each) => each.name()),
  );
  return name === undefined ? undefined : `${pathOf(parent)} ${name}`;
}

function pathOf(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${pathOf(parent)} ${command.name()}`;
}

/** Letters that are wrong, missing or too many; two that are exchanged count once. */
function distanceOf(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const [before = [], earlier = []] = [rows[i - 1], rows[i - 2]];
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (before[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? (earlier[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min((before[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, changed, exchanged));
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? Infinity;
}
