/** Conflicts by table and key: who won, who lost, and what it cost. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { About, Contended, ContendedKey, TrafficConflict } from "../wire.ts";
import { ask } from "./api.ts";
import { countText, keyText, plural, spanText } from "./format.ts";
import {
  Busy,
  Empty,
  Fault,
  ItemLink,
  Panel,
  Time,
  TransactionLink,
  useAsked,
  useEvery,
} from "./parts.tsx";
import { goTo, pathTo, type Route } from "./route.ts";

const windows = [60_000, 600_000, 3_600_000] as const;
const againMs = 3_000;
const fewKeys = 15;

export function ConflictsView(props: {
  readonly about: About | undefined;
  readonly route: Route;
}): JSX.Element {
  const { about, route } = props;
  const windowMs = Number(route.query.get("window") ?? windows[1]);
  const table = route.query.get("table") ?? undefined;
  const { answer, error, isBusy, again } = useAsked(
    `conflicts ${windowMs} ${table ?? ""}`,
    (signal) => ask<Contended>("/api/conflicts", { window: windowMs, table }, signal),
  );
  // On AWS it would read the log anew each time: there it is asked for.
  const isLocal = about?.isLocal === true;
  useEvery(againMs, again, isLocal && !isBusy);
  return (
    <Panel
      title="Conflicts by table and key"
      aside={
        <>
          <Busy isBusy={isBusy && !isLocal} />
          <button type="button" onClick={again}>
            Look again
          </button>
        </>
      }
    >
      <Choices about={about} windowMs={windowMs} table={table} />
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined ? null : <Found answer={answer} about={about} />}
    </Panel>
  );
}

function Choices(props: {
  readonly about: About | undefined;
  readonly windowMs: number;
  readonly table: string | undefined;
}): JSX.Element {
  const { about, windowMs, table } = props;
  return (
    <div class="controls">
      <label class="field">
        <span>Of the last</span>
        <select
          value={windowMs}
          onChange={(event) => {
            goTo(pathTo(["conflicts"], { window: event.currentTarget.value, table }));
          }}
        >
          {windows.map((each) => (
            <option key={each} value={each}>
              {spanText(each)}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Table</span>
        <select
          value={table ?? ""}
          onChange={(event) => {
            const { value } = event.currentTarget;
            const wanted = value === "" ? undefined : value;
            goTo(pathTo(["conflicts"], { window: windowMs, table: wanted }));
          }}
        >
          <option value="">all</option>
          {about?.tables.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Found(props: { readonly answer: Contended; readonly about: About | undefined }) {
  const { answer, about } = props;
  const { commits, conflicts, waits, untold, keys, more, traffic } = answer;
  const [isWhole, setIsWhole] = useState(false);
  return (
    <>
      <p>
        {plural(commits, "commit")}, {plural(conflicts, "conflict")} found by oracles,{" "}
        {plural(waits, "wait")}
        {untold === 0 ? "" : `; the cause of ${countText(untold)} lies further back`}.
      </p>
      {keys.length === 0 ? (
        <Empty title="Nothing was written in that time.">
          <p>
            {about?.canBreak === true ? (
              <>
                <a href="#/faults">Traffic on few keys</a> makes conflicts.
              </>
            ) : (
              "Choose a longer time, or another table."
            )}
          </p>
        </Empty>
      ) : (
        <KeyTable keys={isWhole ? keys : keys.slice(0, fewKeys)} />
      )}
      {keys.length > fewKeys ? (
        <p>
          <button
            type="button"
            aria-expanded={isWhole}
            onClick={() => {
              setIsWhole(!isWhole);
            }}
          >
            {isWhole ? `Only the first ${fewKeys}` : `All ${keys.length} keys`}
          </button>
        </p>
      ) : null}
      {more > 0 ? <p class="faint">and {plural(more, "key")} less contended.</p> : null}
      <p class="note">
        Lost: aborted by the oracle for a write of this key alone; perhaps: the winner wrote several
        keys, and the conflict was at one of them; retried: runs in vain of those that wrote it in
        the end, with the most of one; waited: met an open transaction that writes it. A client that
        finds a conflict in its own view of the log runs again: of that “retried” tells alone, and
        its events say which key it was about.
      </p>
      {about?.canBreak === true ? <Traffic conflicts={traffic} /> : null}
    </>
  );
}

function KeyTable({ keys }: { readonly keys: readonly ContendedKey[] }): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">item</th>
            <th scope="col" class="right">
              written
            </th>
            <th scope="col" class="right">
              lost
            </th>
            <th scope="col" class="right">
              perhaps
            </th>
            <th scope="col" class="right">
              retried
            </th>
            <th scope="col" class="right">
              waited
            </th>
            <th scope="col">newest duels: winner, loser</th>
            <th scope="col" class="right">
              shard
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((each) => (
            <tr key={each.hash}>
              <td class="contended">
                {each.key === undefined ? (
                  <span class="faint">
                    {each.table} <span class="code">hash {each.hash}</span>
                  </span>
                ) : (
                  <ItemLink table={each.table} k={each.key} />
                )}
              </td>
              <td class="right number">{countText(each.commits)}</td>
              <td class={`right number ${each.lost > 0 ? "bad-text" : "faint"}`}>
                {countText(each.lost)}
              </td>
              <td class="right number">{countText(each.lostPerhaps)}</td>
              <td class="right number">
                <Retries of={each} />
              </td>
              <td class="right number">{countText(each.waited)}</td>
              <td>
                {each.duels.slice(0, 2).map(({ winner, loser }) => (
                  <div key={loser}>
                    <TransactionLink id={winner} /> <span class="faint">over</span>{" "}
                    <TransactionLink id={loser} />
                  </div>
                ))}
              </td>
              <td class="right number">{each.shard}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Retries({ of: { retries, commits } }: { readonly of: ContendedKey }): JSX.Element {
  const { known, runs, most } = retries;
  if (known === 0 || (runs === 0 && known < commits)) return <span class="faint">?</span>;
  if (runs === 0) return <span class="faint">0</span>;
  return (
    <>
      {known < commits ? "≥ " : ""}
      {countText(runs)} <span class="faint">(most {countText(most)})</span>
    </>
  );
}

function Traffic({ conflicts }: { readonly conflicts: readonly TrafficConflict[] }): JSX.Element {
  if (conflicts.length === 0) {
    return (
      <>
        <h3>As this console’s own clients met them</h3>
        <p class="faint">None so far.</p>
      </>
    );
  }
  return (
    <>
      <h3>As this console’s own clients met them</h3>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">item</th>
              <th scope="col" class="right">
                conflicts
              </th>
              <th scope="col" class="right">
                found early
              </th>
              <th scope="col" class="right">
                most runs lost by one
              </th>
              <th scope="col">newest winners, losers</th>
            </tr>
          </thead>
          <tbody>
            {conflicts.map((each) => (
              <tr key={`${each.table} ${each.key === undefined ? "" : keyText(each.key)}`}>
                <td class="contended">
                  {each.key === undefined ? (
                    <span class="faint">{each.table}</span>
                  ) : (
                    <ItemLink table={each.table} k={each.key} />
                  )}
                </td>
                <td class="right number">{countText(each.conflicts)}</td>
                <td class="right number">{countText(each.early)}</td>
                <td class="right number">{each.attemptsMax}</td>
                <td>
                  {each.losers.slice(0, 2).map(({ id, version }, at) => (
                    <div key={at}>
                      {version === undefined ? (
                        <span class="faint">one still on its way</span>
                      ) : (
                        <>
                          <span class="faint">the commit at</span> <Time at={version} />
                        </>
                      )}
                      {id === undefined ? null : (
                        <>
                          {" "}
                          <span class="faint">over</span> <TransactionLink id={id} />
                        </>
                      )}
                    </div>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
