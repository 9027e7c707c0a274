/** What Terraform may ask of the provision function, and what it is told about anything else. */
import { expect, test } from "vitest";
import { parseProvisionEvent } from "../../functions/provision/provision-event.ts";

const event = (...tables: readonly unknown[]) => ({ historyRetentionMs: 3_600_000, tables });

test("a table says who writes it, or leaves it as it is registered", () => {
  const orders = { name: "orders", history: true };
  const carts = { name: "carts", history: false, access: "mixed" };
  const stock = { name: "stock", history: false, access: "transactional" };
  const seats = { name: "seats", history: true, access: "transactional", base: true };
  const parsed = parseProvisionEvent(event(orders, carts, stock, seats));
  expect(parsed.tables).toEqual([orders, carts, stock, seats]);
  expect(parsed.tables[0]).not.toHaveProperty("access");
  expect(parsed.tables[0]).not.toHaveProperty("base");
  expect(parsed.stream).toBe(true);
});

test.each([
  [{ name: "carts", history: false, access: "native" }],
  [{ name: "carts", history: false, access: null }],
  [{ name: "carts", history: "no" }],
  [{ name: "carts", history: false, base: "yes" }],
  [{ name: "", history: false }],
  ["carts"],
])("the table %j is refused, by its place", (table) => {
  const parse = () => parseProvisionEvent(event({ name: "orders", history: false }, table));
  expect(parse).toThrow(
    /^tables\[1\] is not of the form .*"transactional" or "mixed", "base": true or false/u,
  );
});

test("shards are a number, or as they are", () => {
  expect(parseProvisionEvent({ ...event(), shards: 4 }).shards).toBe(4);
  expect(parseProvisionEvent(event())).not.toHaveProperty("shards");
  expect(() => parseProvisionEvent({ ...event(), shards: "4" })).toThrow('"shards" is a number');
});
