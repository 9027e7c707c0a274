/** What a write is, whichever operation or part of TransactWriteItems asks for it. */
export type WriteKind = "put" | "update" | "delete" | "check";

/** Of the parts of TransactWriteItems, by the names that requests give them. */
export const partKinds = {
  Put: "put",
  Update: "update",
  Delete: "delete",
  ConditionCheck: "check",
} as const satisfies Readonly<Record<string, WriteKind>>;

export type PartName = keyof typeof partKinds;
export const partNames = Object.keys(partKinds) as readonly PartName[];
