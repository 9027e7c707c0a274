/** Items as rows of a table, and one in full. */
import type { JSX } from "preact";
import type { Row, TableLine, WireItem, WireValue } from "../wire.ts";
import { isNumeric, keyText, valueText } from "./format.ts";
import { pathToBase, pathToItem } from "./route.ts";

const columnsMax = 12;

/** Attributes of the rows, those of the key left out: the most common first. */
function columnsOf(table: TableLine, rows: readonly Row[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { item } of rows) {
    for (const name of Object.keys(item)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  counts.delete(table.partitionKey.name);
  if (table.sortKey !== undefined) counts.delete(table.sortKey.name);
  const names = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return names.slice(0, columnsMax).sort();
}

export function Rows(props: {
  readonly table: TableLine;
  readonly rows: readonly Row[];
}): JSX.Element {
  const { table, rows } = props;
  const columns = columnsOf(table, rows);
  const all = new Set(rows.flatMap(({ item }) => Object.keys(item)));
  const keys = table.sortKey === undefined ? 1 : 2;
  const left = all.size - keys - columns.length;
  const isHeld = rows.some(({ heldBy }) => heldBy !== undefined);
  return (
    <>
      <div class="scroll">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{table.partitionKey.name}</th>
              <SortKeyHead table={table} />
              {columns.map((name) => (
                <th
                  key={name}
                  scope="col"
                  class={rows.some((r) => isNumeric(r.item[name])) ? "right" : ""}
                >
                  {name}
                </th>
              ))}
              {isHeld ? <th scope="col">held by</th> : null}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={keyText(row.key)}>
                <KeyCells table={table} keyed={row.key} />
                {columns.map((name) => (
                  <Cell key={name} value={row.item[name]} />
                ))}
                {isHeld ? <Holder base={row.heldBy} /> : null}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {left > 0 ? (
        <p class="faint">{left} rarer attributes are shown with the item alone.</p>
      ) : null}
    </>
  );
}

function Holder({ base }: { readonly base: string | undefined }): JSX.Element {
  if (base === undefined) return <td class="faint">–</td>;
  return (
    <td>
      <a class="code" href={pathToBase(base)}>
        {base}
      </a>
    </td>
  );
}

/** Above the second of `KeyCells`. */
export function SortKeyHead({ table }: { readonly table: TableLine }): JSX.Element | null {
  const { sortKey } = table;
  if (sortKey === undefined) return null;
  return (
    <th scope="col" class={sortKey.type === "N" ? "right" : ""}>
      {sortKey.name}
    </th>
  );
}

export function KeyCells(props: { readonly table: TableLine; readonly keyed: WireItem }) {
  const { table, keyed } = props;
  const { partitionKey, sortKey } = table;
  const first = keyed[partitionKey.name];
  const second = sortKey === undefined ? undefined : keyed[sortKey.name];
  return (
    <>
      <th scope="row">
        <a class="key code" href={pathToItem(table.name, keyed)} aria-label={keyText(keyed)}>
          {first === undefined ? "–" : valueText(first)}
        </a>
      </th>
      {sortKey === undefined ? null : <Cell value={second} />}
    </>
  );
}

function Cell({ value }: { readonly value: WireValue | undefined }): JSX.Element {
  if (value === undefined) return <td class="faint">–</td>;
  return (
    <td class={isNumeric(value) ? "right number" : "code cell"} title={valueText(value)}>
      {valueText(value)}
    </td>
  );
}

/** All attributes, one line each. */
export function WholeItem({ item }: { readonly item: WireItem }): JSX.Element {
  const names = Object.keys(item).sort();
  return (
    <dl class="attributes">
      {names.map((name) => {
        const value = item[name] ?? {};
        return (
          <div key={name}>
            <dt>
              {name} <span class="faint">{Object.keys(value)[0]}</span>
            </dt>
            <dd class="code wrap">{valueText(value)}</dd>
          </div>
        );
      })}
    </dl>
  );
}

/** What an item was and is, attribute by attribute, where they differ; of its key nothing. */
export function Changes(props: {
  readonly before: WireItem | undefined;
  readonly after: WireItem | undefined;
  readonly keyed: WireItem;
}): JSX.Element {
  const { before, after, keyed } = props;
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].sort();
  const changed = names.filter(
    (name) => !(name in keyed) && JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]),
  );
  const textOf = (value: WireValue | undefined): string =>
    value === undefined ? "–" : valueText(value);
  return (
    <ul class="plain changes">
      {changed.map((name) => (
        <li key={name}>
          <span>{name}</span>{" "}
          {before === undefined ? null : <del class="code">{textOf(before[name])}</del>}
          {before === undefined || after === undefined ? null : <span aria-hidden="true"> → </span>}
          {after === undefined ? null : <ins class="code">{textOf(after[name])}</ins>}
        </li>
      ))}
    </ul>
  );
}
