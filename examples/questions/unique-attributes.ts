/** Users with an e-mail address that no other user has. */
import { type Client, defineTable } from "../../sdk/index.ts";

export const users = defineTable<{ email: string; name: string }, { id: string }>("users", {
  key: "id",
});
/** One row for each address that is taken. */
export const emails = defineTable<{ user: string }, { email: string }>("emails", { key: "email" });

export type User = { readonly id: string; readonly email: string; readonly name: string };

export async function signUp(db: Client, user: User): Promise<"done" | "taken"> {
  const email = user.email.toLowerCase();
  const { result } = await db.transact(async (tx) => {
    if ((await tx.get(emails, email)) !== undefined) return "taken";
    tx.put(emails, email, { user: user.id });
    tx.put(users, user.id, { name: user.name, email });
    return "done";
  });
  return result;
}

export async function changeEmail(
  db: Client,
  { id, to }: { readonly id: string; readonly to: string },
): Promise<"done" | "taken" | "no such user"> {
  const email = to.toLowerCase();
  const { result } = await db.transact(async (tx) => {
    const user = await tx.get(users, id);
    if (user === undefined) return "no such user";
    const holder = await tx.get(emails, email);
    if (holder !== undefined) return holder.user === id ? "done" : "taken";
    tx.delete(emails, user.email); // Free for others from the same moment on.
    tx.put(emails, email, { user: id });
    tx.put(users, id, { name: user.name, email });
    return "done";
  });
  return result;
}
