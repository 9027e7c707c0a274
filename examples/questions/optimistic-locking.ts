/** A page that two people edit: who saves second is told, and overwrites nothing. */
import { type Client, defineTable } from "../../sdk/index.ts";

export const pages = defineTable<{ text: string; version: number }, { id: string }>("pages", {
  key: "id",
});
/** Every text that a page has had. */
export const revisions = defineTable<{ text: string }, { page: string; version: string }, "page">(
  "revisions",
  { key: ["page", "version"] },
);

export type Edit = {
  readonly id: string;
  readonly text: string;
  /** What the form was filled with; 0 for a page that is new. */
  readonly version: number;
};

export async function save(db: Client, edit: Edit): Promise<"saved" | { readonly newer: string }> {
  const { id, text } = edit;
  const { result } = await db.transact(async (tx) => {
    const page = await tx.get(pages, id);
    // Between form and save lie minutes: no transaction is open so long, and the version tells.
    if ((page?.version ?? 0) !== edit.version) return { newer: page?.text ?? "" };
    const version = edit.version + 1;
    tx.put(pages, id, { text, version });
    tx.put(revisions, { page: id, version: version.toString().padStart(6, "0") }, { text });
    return "saved" as const;
  });
  return result;
}
