/** How text is set off on a terminal; elsewhere it is text alone. */

type Style = (text: string) => string;

export type Styles = {
  readonly strong: Style;
  readonly faint: Style;
  readonly good: Style;
  readonly warning: Style;
  readonly bad: Style;
};

const escape = "\u001b[";
/** Sequences that take no place on the screen. */
const invisible = new RegExp(`${escape.replace("[", "\\[")}[0-9;]*m`, "g");

const plain: Style = (text) => text;
const coded =
  (code: number): Style =>
  (text) =>
    text === "" ? text : `${escape}${code.toString()}m${text}${escape}0m`;

export const plainStyles: Styles = {
  strong: plain,
  faint: plain,
  good: plain,
  warning: plain,
  bad: plain,
};

export const colours: Styles = {
  strong: coded(1),
  faint: coded(2),
  good: coded(32),
  warning: coded(33),
  bad: coded(31),
};

/**
 * Colours on a terminal that can show them, unless the user forbids it (NO_COLOR, which counts
 * where it is not empty).
 */
export function stylesFor(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): Styles {
  const isForbidden = (environment["NO_COLOR"] ?? "") !== "";
  return isTerminal && !isForbidden && environment["TERM"] !== "dumb" ? colours : plainStyles;
}

/** Places that the text takes in a line. */
export function widthOf(text: string): number {
  return Array.from(text.replaceAll(invisible, "")).length;
}
