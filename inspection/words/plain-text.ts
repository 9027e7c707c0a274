/** Texts of strangers, such as ids and errors, as a terminal may have them. */

/** Controls, ends of lines, and what turns the direction of writing. */
const commanding = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** On one line, and nothing in it commands the terminal: that is spelt as JSON spells it. */
export function plainText(text: string): string {
  return text.replaceAll(
    commanding,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** What styles.ts makes. A stranger who writes that changes a colour. */
const ownStyle = /(\u001b\[(?:[012]|3[123])m|\n)/;

/**
 * Whatever is said to a terminal, at the last moment before it is: names of tables in a block of
 * the log are strangers' as well, and so is what an error quotes. Styles and ends of lines stay.
 */
export function tamed(text: string): string {
  const parts = text.split(ownStyle);
  return parts.map((part, at) => (at % 2 === 1 ? part : plainText(part))).join("");
}

/** As a shell takes it for one word; one that a terminal would act on, as bash spells it. */
export function shellWord(text: string): string {
  if (/^[\w.:@/][\w.:@/-]*$/.test(text)) return text;
  const plain = plainText(text.replaceAll("\\", String.raw`\\`));
  const isTame = plain === text;
  return isTame
    ? `'${text.replaceAll("'", String.raw`'\''`)}'`
    : `$'${plain.replaceAll("'", String.raw`\'`)}'`;
}
