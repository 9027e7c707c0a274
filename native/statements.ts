/**
 * PartiQL: what writes a mixed table, or checks an item of it, is refused by name; what reads one
 * hides what every read hides.
 */
import type { KeyNames } from "../core/attributes.ts";
import { markAttribute } from "../core/attributes.ts";
import { visible, visibleItems } from "./hidden.ts";
import type { MixedTables } from "./mixed-tables.ts";
import { refuseStatement } from "./refused.ts";
import type { Answer, Ask, ShownItem } from "./wire.ts";

type Statement = { readonly Statement?: string };
export type StatementsInput = Statement & {
  readonly Statements?: readonly Statement[];
  readonly TransactStatements?: readonly Statement[];
};
type StatementsOutput = { Items?: ShownItem[]; Responses?: { Item?: ShownItem }[] };

const written = /^(INSERT\s+INTO|UPDATE|DELETE\s+FROM)(?:\s*"([^"]+)"|\s+([\w.-]+))/iu;
const read = /^(EXISTS\s*\(\s*)?SELECT\s[\s\S]*?\sFROM(?:\s*"([^"]+)"|\s+([\w.-]+))(\s*\.)?/iu;
/** What PartiQL does not look at. */
const leading = /^(?:\s|\/\*[\s\S]*?\*\/|--[^\n]*(?:\n|$))+/u;

export async function statements(
  ask: Ask<StatementsInput, StatementsOutput>,
  input: StatementsInput,
  tables: MixedTables,
): Promise<Answer<StatementsOutput>> {
  const one = aware(input, tables);
  const some = input.Statements?.map((each) => aware(each, tables));
  const all = input.TransactStatements?.map((each) => aware(each, tables));
  const answer = await ask({
    ...input,
    ...(input.Statement === undefined ? {} : { Statement: one.text }),
    ...(some === undefined ? {} : { Statements: texts(input.Statements, some) }),
    ...(all === undefined ? {} : { TransactStatements: texts(input.TransactStatements, all) }),
  });
  const { output } = answer;
  const { table } = one;
  if (table !== undefined && output.Items !== undefined) {
    output.Items = visibleItems(output.Items, table);
  }
  output.Responses?.forEach((response, index) => {
    const of = (some ?? all)?.[index]?.table;
    if (of === undefined || response.Item === undefined) return;
    const item = visible(response.Item, of);
    if (item === undefined) delete response.Item;
    else response.Item = item;
  });
  return answer;
}

type Aware = { readonly text: string; readonly table: KeyNames | undefined };

/** @throws InvalidRequestError for what writes or checks. */
function aware({ Statement: text = "" }: Statement, tables: MixedTables): Aware {
  const bare = text.replace(leading, "");
  const writing = written.exec(bare);
  if (writing !== null) {
    const table = tables.find(writing[2] ?? writing[3]);
    if (table !== undefined) refuseStatement(writing[1] ?? "", table.name);
    return { text, table: undefined };
  }
  const reading = read.exec(bare);
  const table = tables.find(reading?.[2] ?? reading?.[3]);
  if (reading === null || table === undefined) return { text, table: undefined };
  if (reading[1] !== undefined) refuseStatement("EXISTS", table.name);
  const isWhole = /^SELECT\s+\*/iu.test(bare) || reading[4] !== undefined;
  return { text: isWhole ? text : bare.replace(/SELECT/iu, `SELECT "${markAttribute}",`), table };
}

function texts(own: readonly Statement[] = [], all: readonly Aware[]): readonly Statement[] {
  return own.map((each, index) => ({ ...each, Statement: all[index]?.text ?? "" }));
}
