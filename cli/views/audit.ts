/** `tidemark audit` as text and as JSON. Pure. */
import type { FoundLetter } from "../../aws/dead-letters.ts";
import { denied, type Allowed } from "../../inspection/allowed.ts";
import type { Audited } from "../../inspection/audit.ts";
import * as inspectionLimits from "../../inspection/limits.ts";
import { counted, momentText } from "../../inspection/words/moments.ts";
import type { Styles } from "../shell/styles.ts";
import { itemJson, keyText } from "../../inspection/words/values.ts";

export type AuditView = Audited & { readonly letters: Allowed<readonly FoundLetter[]> };

export function auditLines(view: AuditView, styles: Styles): readonly string[] {
  const { blocks, commits, items, unread, mixed, faults, letters } = view;
  const seen = [counted(blocks, "block"), counted(commits, "commit"), counted(items, "item")];
  const shown = faults.slice(0, inspectionLimits.rowsMax);
  const more = faults.length - shown.length;
  return [
    `looked at ${seen.join(", ")}`,
    ...(unread === 0
      ? []
      : [
          `${counted(unread, "commit")} whose keys are not known were left out of the tables' part`,
        ]),
    ...(mixed === 0 ? [] : [`${counted(mixed, "write")} to mixed tables: nothing to be said`]),
    ...(faults.length === 0
      ? [styles.good("no fault")]
      : [
          styles.bad(counted(faults.length, "fault")),
          ...shown.map((fault) => `  ${fault}`),
          ...(more > 0 ? [`  and ${more} more`] : []),
        ]),
    ...letterLines(letters, styles),
  ];
}

function letterLines(letters: AuditView["letters"], styles: Styles): readonly string[] {
  if (letters === denied) return [styles.faint("no right to look for dead letters")];
  if (letters.length === 0) return ["no dead letters"];
  return [
    styles.bad(`${counted(letters.length, "dead letter")} (docs/operations.md, Dead letters)`),
    ...letters.map(({ id, timestamp, table, key, reason }) => {
      const what = table === "" ? "the whole of it" : `${table} ${keyText(key)}`;
      return `  ${id} at ${momentText(timestamp)}, ${what}: ${reason}`;
    }),
  ];
}

export function auditJson({ letters, ...found }: AuditView): object {
  return {
    ...found,
    deadLetters:
      letters === denied
        ? denied
        : letters.map(({ key, ...letter }) => ({ ...letter, key: itemJson(key) })),
  };
}
