/** The tables of options in docs/sdk.md, held against what the client takes and its limits. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { createClient, InvalidRequestError } from "../../sdk/index.ts";

const guide = readFileSync(join(import.meta.dirname, "../../docs/sdk.md"), "utf8");
const address = { deployment: "dev" };

/** The rows of the section's table that begins with `heading`, cell by cell. */
function tableOf(section: string, heading: string): readonly (readonly string[])[] {
  const text = guide.slice(guide.indexOf(`\n${section}`));
  const table = text.slice(text.indexOf(`\n| ${heading} `) + 1);
  const rows = table.slice(0, table.indexOf("\n\n")).split("\n").slice(2);
  return rows.map((row) => row.split("|").map((cell) => cell.trim()));
}

const names = (cell: string | undefined): string[] =>
  [...(cell ?? "").matchAll(/`(\w+)/gu)].map(([, name]) => name ?? "");

const thousands = (value: number): string => value.toLocaleString("en-US");

async function refusal(use: () => unknown): Promise<InvalidRequestError> {
  const error: unknown = await Promise.resolve()
    .then(use)
    .then(
      () => undefined,
      (cause: unknown) => cause,
    );
  expect(error).toBeInstanceOf(InvalidRequestError);
  return error as InvalidRequestError;
}

/** The options that the refusal of an unknown one lists. */
async function known(use: (options: object) => unknown): Promise<string[]> {
  const { message } = await refusal(() => use({ misspelt: 1 }));
  return message.slice(message.indexOf("known are: ") + "known are: ".length).split(", ");
}

const create = (options: object): unknown => createClient({ ...address, ...options });
const transact = (options: object): unknown =>
  createClient(address).transact(options, () => Promise.resolve());

test("the guide's tables name the options of a client, all of them", async () => {
  const section = "## createClient";
  const rows = [
    ...tableOf(section, "where the deployment is").flatMap(([, , cell]) => names(cell)),
    ...tableOf(section, "option").flatMap(([, cell]) => names(cell)),
  ];
  const told = [...new Set(rows)].toSorted();
  expect(told).toEqual((await known(create)).toSorted());
});

test("the guide's table names the options of a transaction, and no other", async () => {
  const told = tableOf("## db.transact", "option").flatMap(([, cell]) => names(cell));
  expect(told.toSorted()).toEqual((await known(transact)).toSorted());
});

const client = "## createClient";
const transaction = "## db.transact";

test.each([
  [client, "callTriesMax", limits.callTriesDefault, limits.callTriesMax, create],
  [client, "callTimeoutMs", limits.callTimeoutMsDefault, limits.callTimeoutMsMax, create],
  [transaction, "attemptsMax", limits.attemptsDefault, limits.attemptsMax, transact],
  [transaction, "deadlineMs", limits.deadlineMsDefault, limits.transactionAgeMsMax, transact],
])("%s: %s has the default and the bound that the guide states", async (...given) => {
  const [section, name, standard, most, use] = given;
  const row = tableOf(section, "option").find(([, cell]) => names(cell).includes(name));
  const [, cell, defaults, meaning] = row ?? [];
  const place = names(cell).indexOf(name);
  expect(defaults?.split(/, /u)[place]).toBe(thousands(standard));
  expect(meaning).toContain(thousands(most));
  const { field, message } = await refusal(() => use({ [name]: most + 1 }));
  expect(field).toBe(name);
  expect(message).toContain(most.toString());
});
