/** Blocks of the logs, decoded, one line for each verdict. */
import type { JSX } from "preact";
import type { BlockLine, VerdictLine, WriteLine } from "../wire.ts";
import { bytesText, plural } from "./format.ts";
import { ItemLink, Time, TransactionLink } from "./parts.tsx";

export function BlockRows(props: {
  readonly blocks: readonly BlockLine[];
  readonly isSharded: boolean;
  /** Tables in place of keys. */
  readonly isShort?: boolean;
}): JSX.Element {
  return (
    <ol class="blocks">
      {props.blocks.map((block) => (
        <Block
          key={`${block.shard}/${block.position}`}
          block={block}
          isSharded={props.isSharded}
          isShort={props.isShort === true}
        />
      ))}
    </ol>
  );
}

function Block(props: {
  readonly block: BlockLine;
  readonly isSharded: boolean;
  readonly isShort: boolean;
}): JSX.Element {
  const { block, isSharded, isShort } = props;
  const { shard, position, timestamp, maker, bytes, verdicts, more, fault } = block;
  return (
    <li class="block">
      <div class="block-head">
        <span class="number block-place" title="its place in the log">
          {isSharded ? `${shard}/${position}` : position}
        </span>
        <Time at={timestamp} />
        <span class="faint">
          {maker}, {bytesText(bytes)}
        </span>
      </div>
      {fault === undefined ? null : <p class="bad-text">is no block: {fault}</p>}
      <ul class="verdicts">
        {verdicts.map((verdict, at) => (
          <Verdict key={`${verdict.id} ${at}`} verdict={verdict} isShort={isShort} />
        ))}
      </ul>
      {more > 0 ? <p class="faint">and {plural(more, "verdict")} more</p> : null}
    </li>
  );
}

function Verdict(props: { readonly verdict: VerdictLine; readonly isShort: boolean }): JSX.Element {
  const { kind, id, way, detail, tables, writes = [] } = props.verdict;
  const named = props.isShort ? [] : writes;
  const total = tables.reduce((sum, each) => sum + each.writes, 0);
  return (
    <li class="verdict">
      <span class={`kind ${kind}`}>{kind}</span>
      <TransactionLink id={id} />
      {way === undefined ? null : <span class={`way ${way}`}>{way}</span>}
      {detail === undefined ? null : <span class="faint">{detail}</span>}
      {byTable(named).map(([table, those]) => (
        <span key={table} class="write">
          <span class="faint">{table}</span>
          {those.map((each, at) => (
            <span key={at}>
              {each.op === "delete" ? <span class="delete">delete</span> : null}
              <ItemLink table={table} k={each.key} isNamed={false} />
            </span>
          ))}
        </span>
      ))}
      {named.length > 0 && total > named.length ? (
        <span class="faint">+{total - named.length}</span>
      ) : null}
      {named.length === 0 && tables.length > 0 ? (
        <span class="faint">
          {tables.map((each) => `${each.name} (${each.writes})`).join(", ")}
        </span>
      ) : null}
    </li>
  );
}

function byTable(writes: readonly WriteLine[]): readonly [string, readonly WriteLine[]][] {
  const all = new Map<string, WriteLine[]>();
  for (const each of writes) all.set(each.table, [...(all.get(each.table) ?? []), each]);
  return [...all];
}
