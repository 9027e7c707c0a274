/** What `tidemark base resume --all` has done, as text and as JSON. Pure. */
import type { NamedBase } from "../../engine/base/base-name.ts";
import type { ResumedBases } from "../../engine/base/resume-all.ts";
import { counted } from "../../inspection/words/moments.ts";
import { plainText } from "../../inspection/words/plain-text.ts";
import * as limits from "../limits.ts";

export function resumedLines(
  { resumed, failed, isMore }: ResumedBases,
  name: string | undefined,
): readonly string[] {
  const isNone = resumed.length === 0 && failed.length === 0 && !isMore;
  const of = name === undefined ? "" : ` of "${plainText(name)}"`;
  if (isNone) return [`no BASE transaction${of} is parked; nothing is changed`];
  const verb = resumed.length === 1 ? "goes" : "go";
  const hidden = resumed.length - limits.rowsDefault;
  return [
    `${counted(resumed.length, "BASE transaction")} ${verb} on with the next runner` +
      (resumed.length === 0 ? "" : ":"),
    ...resumed.slice(0, limits.rowsDefault).map((base) => `  ${nameText(base)}`),
    ...(hidden > 0 ? [`  and ${hidden} more`] : []),
    ...failed.map(
      (each) => `not let go on: ${nameText(each)}: ${plainText(errorText(each.error))}`,
    ),
    ...(isMore ? ["more are parked: the same command again goes on with them"] : []),
  ];
}

export function resumedJson({ resumed, failed, isMore }: ResumedBases): object {
  const failures = failed.map(({ name, id, error }) => ({ name, id, error: errorText(error) }));
  return { resumed, failed: failures, isMore };
}

function nameText({ name, id }: NamedBase): string {
  return `${name} ${plainText(id)}`;
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : "unknown";
}
