/**
 * Expressions as trees, as they were written: placeholders are still placeholders, so that one tree
 * serves every call with the same text.
 */

export type WrittenStep =
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "placeholder"; readonly text: string }
  | { readonly kind: "index"; readonly index: number };

export type WrittenPath = { readonly kind: "path"; readonly steps: readonly WrittenStep[] };
export type WrittenCall = {
  readonly kind: "call";
  readonly name: string;
  readonly operands: readonly WrittenOperand[];
};
export type WrittenOperand =
  | WrittenPath
  | { readonly kind: "value"; readonly placeholder: string }
  | WrittenCall
  | {
      readonly kind: "arithmetic";
      readonly operator: "+" | "-";
      readonly left: WrittenOperand;
      readonly right: WrittenOperand;
    };

export const comparators = ["=", "<>", "<", "<=", ">", ">="] as const;
export type Comparator = (typeof comparators)[number];

export type WrittenCondition =
  | {
      readonly kind: "comparison";
      readonly operator: Comparator;
      readonly left: WrittenOperand;
      readonly right: WrittenOperand;
    }
  | {
      readonly kind: "between";
      readonly operand: WrittenOperand;
      readonly low: WrittenOperand;
      readonly high: WrittenOperand;
    }
  | {
      readonly kind: "in";
      readonly operand: WrittenOperand;
      readonly candidates: readonly WrittenOperand[];
    }
  | WrittenCall
  | {
      readonly kind: "and" | "or";
      readonly left: WrittenCondition;
      readonly right: WrittenCondition;
    }
  | { readonly kind: "not"; readonly condition: WrittenCondition };

export const updateActions = ["SET", "REMOVE", "ADD", "DELETE"] as const;
export type UpdateAction = (typeof updateActions)[number];

export type WrittenUpdate = {
  readonly action: UpdateAction;
  readonly path: WrittenPath;
  /** Undefined for REMOVE. */
  readonly operand: WrittenOperand | undefined;
};
