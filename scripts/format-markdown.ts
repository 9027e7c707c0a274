/** Generated pages stand in the tree as `npm run format` would write them. */
import { format } from "oxfmt";

export async function formatMarkdown(text: string): Promise<string> {
  const { code, errors } = await format("page.md", text, { printWidth: 100, proseWrap: "always" });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join("\n"));
  return code;
}
