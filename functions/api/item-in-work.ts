/** What a request's writes make of an item, one after the other, before it is written once. */
import { addNumbers } from "../../core/decimal.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import type { PlannedWrite } from "./plan.ts";

/**
 * One item under a request's writes. An update changes the copy in place: many of them cost no more
 * than their own attributes.
 */
export class ItemInWork {
  /** Undefined: it does not exist. */
  #attributes: Map<string, AttributeValue> | undefined;

  constructor(stored: Item | undefined) {
    this.#attributes = stored && new Map(Object.entries(stored));
  }

  apply(write: PlannedWrite, field: string): void {
    switch (write.op) {
      case "delete":
        this.#attributes = undefined;
        return;
      case "put":
        this.#attributes = new Map(Object.entries(write.item));
        return;
      case "update":
        this.#update(write, field);
    }
  }

  #update(write: Extract<PlannedWrite, { readonly op: "update" }>, field: string): void {
    this.#attributes ??= new Map();
    const attributes = this.#attributes;
    for (const [name, value] of Object.entries({ ...write.key, ...write.set })) {
      attributes.set(name, value);
    }
    for (const [name, amount] of Object.entries(write.add)) {
      attributes.set(name, sum(attributes.get(name), amount, `${field}.add.${name}`));
    }
    for (const name of write.remove) attributes.delete(name);
  }

  get item(): Item | undefined {
    return this.#attributes && Object.fromEntries(this.#attributes);
  }
}

function sum(value: AttributeValue | undefined, amount: AttributeValue, field: string) {
  const stored = value ?? { N: "0" };
  if (!("N" in stored) || !("N" in amount)) {
    const message = `${field}: the stored attribute is not a number`;
    throw new InvalidRequestError(field, message);
  }
  return { N: addNumbers(stored.N, amount.N, field) };
}
