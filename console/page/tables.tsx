/** Tables as of a moment, and what differs between two. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { About, DiffPage, RowsPage, TableLine } from "../wire.ts";
import { ask, type AskError } from "./api.ts";
import { momentText, plural, spanText } from "./format.ts";
import type { Live } from "./live.ts";
import { Moment, type At } from "./moment.tsx";
import { Busy, Empty, Fault, Panel, useAsked, useEvery } from "./parts.tsx";
import { goTo, pathTo, type Route } from "./route.ts";
import { Changes, KeyCells, Rows, SortKeyHead } from "./values.tsx";

const againMs = 2_000;

type Props = { readonly about: About | undefined; readonly live: Live; readonly route: Route };

export function TablesView({ about, live, route }: Props): JSX.Element {
  const [name] = route.words;
  if (about === undefined) return <p class="faint">reading…</p>;
  const table = about.tables.find((each) => each.name === name);
  if (name !== undefined && name !== "" && table === undefined) {
    return (
      <Panel title={name}>
        <Empty title={`There is no registered table "${name}".`}>
          <p>
            <a href="#/tables">All tables</a>. One of DynamoDB’s becomes one of these by `tidemark
            register {name}`.
          </p>
        </Empty>
      </Panel>
    );
  }
  if (table === undefined) return <TableList about={about} />;
  return <OneTable key={table.name} {...{ table, live, route, about }} />;
}

function TableList({ about }: { readonly about: About }): JSX.Element {
  const [wanted, setWanted] = useState("");
  const listedMax = 200;
  const found = about.tables.filter(({ name }) => name.includes(wanted.trim()));
  const shown = found.slice(0, listedMax);
  return (
    <Panel title="Tables" aside={plural(about.tables.length, "table")}>
      {about.tables.length > 12 ? (
        <div class="controls">
          <label class="field grow">
            <span>Name contains</span>
            <input
              type="search"
              value={wanted}
              onInput={(event) => {
                setWanted(event.currentTarget.value);
              }}
            />
          </label>
        </div>
      ) : null}
      {about.tables.length === 0 ? (
        <Empty title="No table is registered.">
          <p>`tidemark register &lt;table&gt;` takes one in; `tidemark start --table` makes one.</p>
        </Empty>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">table</th>
                <th scope="col">key</th>
                <th scope="col">written by</th>
                <th scope="col">history</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((each) => (
                <tr key={each.name}>
                  <th scope="row">
                    <a href={pathTo(["tables", each.name])}>{each.name}</a>
                  </th>
                  <td class="code">{keyNames(each)}</td>
                  <td>{writersOf(each)}</td>
                  <td>{each.history ? `kept for ${spanText(about.retentionMs)}` : "–"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found.length > shown.length ? (
        <p class="faint">{found.length - shown.length} more: name a part of theirs.</p>
      ) : null}
    </Panel>
  );
}

function writersOf({ access, base }: TableLine): string {
  if (access === "mixed") return "transactions and natively";
  return base ? "transactions, BASE transactions" : "transactions";
}

function keyNames({ partitionKey, sortKey }: TableLine): string {
  const names = [partitionKey, ...(sortKey === undefined ? [] : [sortKey])];
  return names.map(({ name, type }) => `${name}:${type}`).join(", ");
}

type OneProps = {
  readonly table: TableLine;
  readonly about: About;
  readonly live: Live;
  readonly route: Route;
};

function atOf(text: string | null): At {
  return text === null || text === "now" || !/^\d{1,16}$/.test(text) ? "now" : Number(text);
}

type Go = (change: Readonly<Record<string, string | number | undefined>>) => void;

function OneTable({ table, about, live, route }: OneProps): JSX.Element {
  const { query } = route;
  const at = atOf(query.get("at"));
  const from = query.get("from");
  const partition = query.get("partition") ?? undefined;
  const now = (Date.now() + live.aheadMs) * 1_000;
  const since = Math.min(table.since, now - 1_000_000);
  const go: Go = (change) => {
    const kept = { at: query.get("at") ?? undefined, from: from ?? undefined, partition };
    const isSlid = "at" in change || "from" in change;
    goTo(pathTo(["tables", table.name], { ...kept, ...change }), isSlid);
  };
  return (
    <Panel
      title={table.name}
      aside={
        <>
          <span class="code">{keyNames(table)}</span>
          <a href="#/tables">all tables</a>
        </>
      }
    >
      {table.access === "mixed" ? (
        <p class="note">
          Native operations write this table, too, and leave no past: it is shown as it is now.
        </p>
      ) : (
        <>
          <Moments {...{ at, from, since, now, go }} />
          <PastNote table={table} about={about} />
        </>
      )}
      <div class="controls">
        <PartitionField
          table={table}
          partition={partition}
          choose={(chosen) => {
            go({ partition: chosen });
          }}
        />
        {table.access === "mixed" ? null : <Compare {...{ at, from, since, now, go }} />}
      </div>
      {from === null ? (
        <Contents
          key={`${at} ${partition ?? ""}`}
          {...{ table, at, partition }}
          newestAt={Math.max(0, ...live.blocks.map(({ timestamp }) => timestamp))}
        />
      ) : (
        <Differences
          key={`${from} ${at} ${partition ?? ""}`}
          {...{ table, partition }}
          from={Number(from)}
          to={at}
        />
      )}
    </Panel>
  );
}

type Chosen = {
  readonly at: At;
  readonly from: string | null;
  readonly since: number;
  readonly now: number;
  readonly go: Go;
};

function Moments({ at, from, since, now, go }: Chosen): JSX.Element {
  return (
    <>
      {from === null ? null : (
        <Moment
          label="From"
          at={atOf(from)}
          {...{ since, now }}
          choose={(chosen) => {
            go({ from: chosen === "now" ? Math.floor(now) : chosen });
          }}
        />
      )}
      <Moment
        label={from === null ? "As of" : "To"}
        {...{ at, since, now }}
        choose={(chosen) => {
          go({ at: chosen === "now" ? undefined : chosen });
        }}
      />
    </>
  );
}

const minuteMicros = 60_000_000;

/** With what was a minute before, at first. */
function Compare({ at, from, since, now, go }: Chosen): JSX.Element {
  return (
    <button
      type="button"
      aria-pressed={from !== null}
      onClick={() => {
        const before = (at === "now" ? now : at) - minuteMicros;
        go({ from: from === null ? Math.floor(Math.max(since, before)) : undefined });
      }}
    >
      Compare two moments
    </button>
  );
}

function PastNote({ table, about }: { readonly table: TableLine; readonly about: About }) {
  if (table.history) {
    return <p class="note">Its past is kept for {spanText(about.retentionMs)}.</p>;
  }
  return (
    <p class="note">
      This table keeps no history: a few minutes back are to be seen, as long as nothing there was
      overwritten since. `tidemark tables history {table.name} on` keeps it from then on.
    </p>
  );
}

function PartitionField(props: {
  readonly table: TableLine;
  readonly partition: string | undefined;
  readonly choose: (partition: string | undefined) => void;
}): JSX.Element {
  const { table, partition, choose } = props;
  return (
    <label class="field grow">
      <span>
        Only where {table.partitionKey.name} ({table.partitionKey.type}) is
      </span>
      <input
        type="search"
        class="code"
        defaultValue={partition ?? ""}
        placeholder="any"
        onChange={(event) => {
          const { value } = event.currentTarget;
          choose(value === "" ? undefined : value);
        }}
      />
    </label>
  );
}

/** A page at a time; of the pages before it only where they began is kept. */
function usePages() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  return {
    cursor: cursors.at(-1),
    page: cursors.length + 1,
    next: (cursor: string) => {
      setCursors((old) => [...old, cursor]);
    },
    back: () => {
      setCursors((old) => old.slice(0, -1));
    },
  };
}

function Contents(props: {
  readonly table: TableLine;
  readonly at: At;
  readonly partition: string | undefined;
  /** The newest moment that the logs tell of. */
  readonly newestAt: number;
}): JSX.Element {
  const { table, at, partition, newestAt } = props;
  const pages = usePages();
  const { answer, error, isBusy, again } = useAsked(
    `rows ${table.name} ${at} ${partition ?? ""} ${pages.cursor ?? ""}`,
    (signal) =>
      ask<RowsPage>(
        `/api/tables/${encodeURIComponent(table.name)}/rows`,
        { at, partition, cursor: pages.cursor },
        signal,
      ),
  );
  // An answer may be of a moment before what was seen in the logs: replay has not come to that yet.
  const isBehind = answer === undefined ? mayPass(error) : answer.at < newestAt;
  useEvery(againMs, again, at === "now" && !isBusy && isBehind);
  return (
    <>
      {error === undefined ? null : <Fault error={error} />}
      <HeldNote held={answer?.held} />
      {answer === undefined ? (
        <p class="faint">{isBusy ? "reading…" : ""}</p>
      ) : answer.rows.length === 0 && answer.cursor === undefined ? (
        <Empty title={pages.page === 1 ? "There was nothing in it." : "No more rows."}>
          <p>As of {momentText(answer.at)}. Move the slider, or leave the condition out.</p>
        </Empty>
      ) : (
        <>
          <p class="faint number">
            As of {momentText(answer.at)}: {plural(answer.rows.length, "row")} on page {pages.page}
          </p>
          <Rows table={answer.table} rows={answer.rows} />
        </>
      )}
      <Pager pages={pages} cursor={answer?.cursor} isBusy={isBusy && at !== "now"} />
    </>
  );
}

function HeldNote({ held }: { readonly held: RowsPage["held"] | undefined }): JSX.Element | null {
  if (held === undefined) return null;
  return (
    <p class="note">
      <a href="#/base">BASE transactions</a> that are open have written here.{" "}
      {held === "before"
        ? "Rows are as they were before: what those have deleted is there, what they have made is not."
        : "Rows are as stored: those that say so are held, with what steps have written so far."}
    </p>
  );
}

/** What is wrong with the question stays wrong. */
function mayPass(error: AskError | undefined): boolean {
  return error !== undefined && error.code !== "invalid-request";
}

function Pager(props: {
  readonly pages: ReturnType<typeof usePages>;
  readonly cursor: string | undefined;
  readonly isBusy: boolean;
}): JSX.Element | null {
  const { pages, cursor, isBusy } = props;
  if (pages.page === 1 && cursor === undefined) return null;
  return (
    <div class="pager">
      <button type="button" disabled={pages.page === 1} onClick={pages.back}>
        Back
      </button>
      <span class="number faint">page {pages.page}</span>
      <button
        type="button"
        disabled={cursor === undefined}
        onClick={() => {
          if (cursor !== undefined) pages.next(cursor);
        }}
      >
        Next
      </button>
      <Busy isBusy={isBusy} />
    </div>
  );
}

function Differences(props: {
  readonly table: TableLine;
  readonly from: number;
  readonly to: At;
  readonly partition: string | undefined;
}): JSX.Element {
  const { table, from, to, partition } = props;
  const pages = usePages();
  const { answer, error, isBusy } = useAsked(
    `diff ${table.name} ${from} ${to} ${partition ?? ""} ${pages.cursor ?? ""}`,
    (signal) =>
      ask<DiffPage>(
        `/api/tables/${encodeURIComponent(table.name)}/diff`,
        { from, to, partition, cursor: pages.cursor },
        signal,
      ),
  );
  return (
    <>
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined ? (
        <p class="faint">{isBusy ? "reading both…" : ""}</p>
      ) : (
        <>
          <p class="faint number">
            {plural(answer.rows.length, "difference")} among {plural(answer.examined, "row")}, from{" "}
            {momentText(answer.from)} to {momentText(answer.to)}
          </p>
          {answer.rows.length === 0 ? (
            <Empty title={answer.cursor === undefined ? "No difference." : "None so far."}>
              <p>
                {answer.cursor === undefined
                  ? "What was written in between is as it was, or lies elsewhere."
                  : "Next goes on."}
              </p>
            </Empty>
          ) : (
            <DiffRows answer={answer} />
          )}
        </>
      )}
      <Pager pages={pages} cursor={answer?.cursor} isBusy={isBusy} />
    </>
  );
}

function DiffRows({ answer }: { readonly answer: DiffPage }): JSX.Element {
  const { table, rows } = answer;
  return (
    <div class="scroll">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">{table.partitionKey.name}</th>
            <SortKeyHead table={table} />
            <th scope="col">what</th>
            <th scope="col">attributes</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((each, at) => (
            <tr key={at} class={`diff ${each.change}`}>
              <KeyCells table={table} keyed={each.key} />
              <td class={`change ${each.change}`}>{each.change}</td>
              <td>
                <Changes before={each.before} after={each.after} keyed={each.key} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
