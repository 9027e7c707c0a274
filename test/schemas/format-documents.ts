/** The bytes that the documents of the formats show. */
import { readFileSync } from "node:fs";

/** All of a document's examples in one string of hexadecimal digits, without remarks. */
export function bytesShownBy(path: string): string {
  const text = readFileSync(path, "utf8");
  const examples = Array.from(text.matchAll(/```\n([^`]*)```/gu), ([, example = ""]) => example);
  return examples.join("|").replaceAll(/\([^)]*\)|\s/gu, "");
}
