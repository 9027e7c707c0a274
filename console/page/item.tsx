/** One item over time: as it is stored, its versions, and what is on its way to it. */
import type { JSX } from "preact";
import type { HolderLine, ItemPage, VersionLine } from "../wire.ts";
import { ask } from "./api.ts";
import { keyText, momentText } from "./format.ts";
import { Busy, Empty, Fault, Panel, Time, TransactionLink, useAsked } from "./parts.tsx";
import { pathTo, pathToBase, type Route } from "./route.ts";
import { Changes, WholeItem } from "./values.tsx";

const states: Readonly<Record<VersionLine["state"], string>> = {
  stored: "stands in the table",
  pending: "committed, not in the table yet",
  kept: "superseded, kept by history",
  logged: "superseded; only the log tells of it",
};

export function ItemView({ route }: { readonly route: Route }): JSX.Element {
  const [table = "", key = ""] = route.words;
  const { answer, error, isBusy, again } = useAsked(`item ${table} ${key}`, (signal) =>
    ask<ItemPage>(`/api/tables/${encodeURIComponent(table)}/item`, { key }, signal),
  );
  return (
    <Panel
      title={answer === undefined ? table : `${table} ${keyText(answer.key)}`}
      aside={
        <>
          <Busy isBusy={isBusy} />
          <a href={pathTo(["tables", table])}>the table</a>
          <button type="button" onClick={again}>
            Look again
          </button>
        </>
      }
    >
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined ? null : <Found page={answer} />}
    </Panel>
  );
}

function Found({ page }: { readonly page: ItemPage }): JSX.Element {
  const { stored, item, version, versions, open, shard, hash, lookedTo } = page;
  return (
    <>
      {item === undefined ? (
        <Empty title={stored === "absent" ? "There is no such item." : `It is a ${stored}.`}>
          <p>
            {stored === "tombstone"
              ? "It was deleted; the reaper removes what tells of that."
              : "Its past may still be known, below."}
          </p>
        </Empty>
      ) : (
        <WholeItem item={item} />
      )}
      <p class="faint">
        {version === 0 ? "No transaction has written it." : `Version ${version}.`} In shard {shard},
        as <span class="code">{hash}</span> in its log.
      </p>
      {open.map((each) => (
        <p key={each.id} class="notice warning">
          <TransactionLink id={each.id} /> is open and {each.does} it, since{" "}
          <Time at={each.since} />.
        </p>
      ))}
      {page.holders.map((each) => (
        <p key={`${each.name}/${each.id}`} class="notice warning">
          <HeldBy holder={each} />
        </p>
      ))}
      {page.moreHolders === 0 ? null : (
        <p class="notice warning">{page.moreHolders} more BASE transactions hold it.</p>
      )}
      <h3>Versions</h3>
      {versions.length === 0 ? (
        <p class="faint">Nothing tells of any.</p>
      ) : (
        <Versions versions={versions} table={page.table.name} />
      )}
      {lookedTo === undefined ? null : (
        <p class="note">The log was looked through back to {momentText(lookedTo)}.</p>
      )}
    </>
  );
}

function HeldBy({ holder }: { readonly holder: HolderLine }): JSX.Element {
  const { name, id, does, open } = holder;
  return (
    <>
      BASE transaction{" "}
      <a class="code wrap" href={pathToBase(`${name}/${id}`)}>
        {name}/{id}
      </a>{" "}
      has {does === "wrote" ? "written" : "read"} it and is not over: transactions that{" "}
      {does === "wrote" ? "read or write" : "write"} it wait.{" "}
      {open === undefined ? null : (
        <>
          It is {open.phase}, with step {open.step}{" "}
          {open.stepName === undefined ? null : <span class="code">{open.stepName}</span>} made,
          since <Time at={open.sinceMs * 1_000} />.
        </>
      )}
    </>
  );
}

function Versions(props: { readonly versions: readonly VersionLine[]; readonly table: string }) {
  const { versions, table } = props;
  return (
    <ol class="course">
      {versions.map((each, at) => (
        <li key={each.version} class="step">
          <div class="step-time">
            {each.version === 0 ? <span class="faint">before</span> : <Time at={each.version} />}
          </div>
          <div class="step-text">
            <p>
              <span class={`state ${each.state === "pending" ? "pending" : ""}`}>{each.state}</span>{" "}
              <span class="faint">{states[each.state]}</span>{" "}
              {each.id === undefined ? null : (
                <>
                  by <TransactionLink id={each.id} />{" "}
                </>
              )}
              {each.version === 0 ? (
                "before any transaction"
              ) : (
                <a href={pathTo(["tables", table], { at: each.version })}>table as of then</a>
              )}
            </p>
            <Content version={each} before={versions[at + 1]} />
          </div>
        </li>
      ))}
    </ol>
  );
}

/** Beside the version before it what has changed; of the oldest one all. */
function Content(props: {
  readonly version: VersionLine;
  readonly before: VersionLine | undefined;
}): JSX.Element {
  const { version, before } = props;
  if (version.item === undefined) {
    return <p class="faint">Its content is not known: its payload was not read, or is gone.</p>;
  }
  if (version.item === null) {
    return version.version === 0 ? (
      <p class="faint">there was none</p>
    ) : (
      <p class="delete">deleted</p>
    );
  }
  if (before?.item === undefined || before.item === null) return <WholeItem item={version.item} />;
  return <Changes before={before.item} after={version.item} keyed={{}} />;
}
