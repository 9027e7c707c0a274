/** BASE transactions: those that are open, what to do about them, and one with its steps. */
import type { JSX } from "preact";
import type { BaseLine, BasePage, BasesPage, BaseStepLine, Level } from "../wire.ts";
import { shellWord } from "../../inspection/words/plain-text.ts";
import { ask } from "./api.ts";
import { momentText, plural, spanText } from "./format.ts";
import { Busy, Empty, Fact, Fault, Mark, Panel, Time, useAsked, useEvery } from "./parts.tsx";
import { pathTo, pathToBase, type Route } from "./route.ts";

const againMs = 2_000;
/** Two looks of a runner that takes over as late as by default. */
const leftAfterMs = 60_000;

export function BasesView({ route }: { readonly route: Route }): JSX.Element {
  const [name = "", id = ""] = route.words;
  return name === "" || id === "" ? <OpenBases /> : <OneBase name={name} id={id} />;
}

function OpenBases(): JSX.Element {
  const { answer, error, isBusy, again } = useAsked("bases", (signal) =>
    ask<BasesPage>("/api/bases", {}, signal),
  );
  useEvery(againMs, again, !isBusy);
  return (
    <Panel title="BASE transactions" aside={answer === undefined ? "" : `${answer.all} open`}>
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined ? (
        <p class="faint">{isBusy ? "reading…" : ""}</p>
      ) : answer.bases.length === 0 ? (
        <Nothing isTaken={answer.isTaken} />
      ) : (
        <>
          {answer.damaged === 0 ? null : <Damaged count={answer.damaged} />}
          {answer.parked === 0 ? null : <Parked count={answer.parked} />}
          <List {...answer} />
        </>
      )}
    </Panel>
  );
}

function Nothing({ isTaken }: { readonly isTaken: boolean }): JSX.Element {
  return isTaken ? (
    <Empty title="No BASE transaction is open.">
      <p>
        Those that have ended are found by name and id, for a week: `tidemark base &lt;name&gt;
        &lt;id&gt;`.
      </p>
    </Empty>
  ) : (
    <Empty title="No table takes BASE transactions.">
      <p>`tidemark register &lt;table&gt; --base` lets them use one; it stays so.</p>
    </Empty>
  );
}

function Parked({ count }: { readonly count: number }): JSX.Element {
  return (
    <p class="notice bad">
      {plural(count, "BASE transaction")} parked: the handler has failed too often, and what it
      holds stays held. Put the handler right where it runs; then `tidemark base resume` lets each
      go on.
    </p>
  );
}

function Damaged({ count }: { readonly count: number }): JSX.Element {
  return (
    <p class="notice bad">
      {plural(count, "BASE transaction")} damaged: an item of its record is none that Tidemark has
      written, and nobody goes on with it. The last failure names the item. All others go on.
    </p>
  );
}

function List({ bases, nowMs, all }: BasesPage): JSX.Element {
  return (
    <>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">phase</th>
              <th scope="col">name</th>
              <th scope="col">id</th>
              <th scope="col" class="right">
                version
              </th>
              <th scope="col" class="right">
                steps
              </th>
              <th scope="col">since (UTC)</th>
              <th scope="col" class="right">
                heard of
              </th>
              <th scope="col" class="right">
                failures
              </th>
              <th scope="col">last failure</th>
            </tr>
          </thead>
          <tbody>
            {bases.map((base) => (
              <BaseRow key={`${base.name}/${base.id}`} {...{ base, nowMs }} />
            ))}
          </tbody>
        </table>
      </div>
      {all > bases.length ? <p class="faint">{all - bases.length} more are open.</p> : null}
    </>
  );
}

function BaseRow({ base, nowMs }: { readonly base: BaseLine; readonly nowMs: number }) {
  const { name, id, version, steps, sinceMs, lastMs, failures, failure = "–" } = base;
  return (
    <tr>
      <td>
        <Phase base={base} nowMs={nowMs} />
      </td>
      <td>{name}</td>
      <th scope="row">
        <a class="code" href={pathToBase(`${name}/${id}`)}>
          {id}
        </a>
      </th>
      <td class="right number">{version}</td>
      <td class="right number">{steps}</td>
      <td class="number">{sinceMs === 0 ? "–" : momentText(sinceMs * 1_000).slice(0, 19)}</td>
      <td class="right number">{agoText(lastMs, nowMs)}</td>
      <td class="right number">{failures}</td>
      <td class="code cell" title={failure}>
        {failure}
      </td>
    </tr>
  );
}

type Standing = { readonly level: Level; readonly text: string; readonly advice?: string };

function standingOf(base: BaseLine, nowMs: number): Standing {
  const { name, id, phase, lastMs, steps, retryAtMs = 0 } = base;
  const rests: Standing | undefined =
    retryAtMs > nowMs
      ? {
          ...{ level: "warning", text: `tried again in ${spanText(retryAtMs - nowMs)}` },
          advice: "Its handler has failed, and is run again at growing intervals.",
        }
      : undefined;
  const heardMs = Math.max(lastMs, retryAtMs);
  switch (phase) {
    case "parked":
      return {
        ...{ level: "bad", text: "parked" },
        advice:
          "Put its handler right where it runs; then `tidemark base resume " +
          `${name} ${shellWord(id)}\` lets it go on. ` +
          (steps === 0 ? "It has not begun, and holds nothing." : "What it holds stays held."),
      };
    case "requested":
      if (rests !== undefined) return rests;
      return lastMs === 0
        ? {
            ...{ level: "warning", text: "requested" },
            advice: "It waits for a runner that has its handler in this version.",
          }
        : { level: "fine", text: "is being begun" };
    case "running":
      if (rests !== undefined) return rests;
      return nowMs - heardMs > leftAfterMs
        ? {
            ...{ level: "warning", text: "nobody is at it" },
            advice: "A runner with its handler takes it over: is one running?",
          }
        : { level: "fine", text: "goes on" };
    case "ended":
      return {
        ...{ level: "unknown", text: "ended, waits" },
        advice: "All its steps are made; it is released with those that it has read from.",
      };
    case "released":
      return { level: "fine", text: "released" };
    case "refused":
      return { level: "unknown", text: "refused: nothing has happened" };
    case "damaged":
      return {
        ...{ level: "bad", text: "damaged" },
        advice:
          "Nobody can go on with it: put the item back that its failure names, or upgrade what " +
          "looks at it.",
      };
    case "cancelled":
      return { level: "unknown", text: "cancelled: nothing has happened" };
  }
}

function Phase({ base, nowMs }: { readonly base: BaseLine; readonly nowMs: number }) {
  const { level, text, advice } = standingOf(base, nowMs);
  return (
    <span class={level === "bad" ? "bad-text" : ""} title={advice ?? ""}>
      <Mark level={level} /> {text}
    </span>
  );
}

function agoText(ms: number, nowMs: number): string {
  return ms === 0 ? "–" : spanText(nowMs - ms);
}

function OneBase({ name, id }: { readonly name: string; readonly id: string }): JSX.Element {
  const { answer, error, isBusy, again } = useAsked(`base ${name} ${id}`, (signal) =>
    ask<BasePage>("/api/bases/one", { name, id }, signal),
  );
  useEvery(againMs, again, !isBusy && error === undefined);
  return (
    <Panel
      title="BASE transaction"
      aside={
        <>
          <Busy isBusy={isBusy && answer === undefined} />
          <a href={pathTo(["base"])}>all that are open</a>
        </>
      }
    >
      <p class="headline">
        <b>{name}</b> <span class="code wrap">{id}</span>
      </p>
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined ? null : <Whole page={answer} />}
    </Panel>
  );
}

function Whole({ page }: { readonly page: BasePage }): JSX.Element {
  const { base, nowMs, steps, refusal, dependsOn } = page;
  const { advice, level } = standingOf(base, nowMs);
  return (
    <>
      <p>
        <Phase base={base} nowMs={nowMs} />
      </p>
      {advice === undefined ? null : (
        <p class={level === "bad" ? "notice bad" : "note"}>{advice}</p>
      )}
      <dl class="attributes">
        <Fact name="version">{base.version}</Fact>
        <Fact name={base.steps === 0 ? "requested" : "since"}>
          {base.sinceMs === 0 ? "–" : momentText(base.sinceMs * 1_000)}
        </Fact>
        <Fact name="last heard of">
          {base.lastMs === 0 ? "–" : `${spanText(nowMs - base.lastMs)} ago`}
        </Fact>
        <Fact name="failures">{base.failures}</Fact>
        {base.failure === undefined ? null : <Fact name="last failure">{base.failure}</Fact>}
        {refusal?.step === undefined ? null : <Fact name="refused by step">{refusal.step}</Fact>}
        {dependsOn.length === 0 ? null : (
          <Fact name="has read from">
            {dependsOn.map((each) => (
              <span key={each}>
                <a href={pathToBase(each)}>{each}</a>{" "}
              </span>
            ))}
          </Fact>
        )}
      </dl>
      {base.phase === "damaged" ? null : <Steps steps={steps} all={base.steps} />}
    </>
  );
}

function Steps({ steps, all }: { readonly steps: readonly BaseStepLine[]; readonly all: number }) {
  if (steps.length === 0) {
    return (
      <Empty title="No step is committed.">
        <p>Nothing of it has happened, and it holds nothing.</p>
      </Empty>
    );
  }
  return (
    <>
      <h3>Steps</h3>
      {all > steps.length ? (
        <p class="faint">
          The newest {steps.length} of {all}.
        </p>
      ) : null}
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col" class="right">
                step
              </th>
              <th scope="col">name</th>
              <th scope="col">committed (UTC)</th>
              <th scope="col" class="right">
                locks
              </th>
              <th scope="col">how it ended</th>
            </tr>
          </thead>
          <tbody>
            {steps.map(({ number, name, atMs, locks, failure }) => (
              <tr key={number}>
                <td class="right number">{number}</td>
                <th scope="row">{name}</th>
                <td>
                  <Time at={atMs * 1_000} />
                </td>
                <td class="right number">{locks}</td>
                <td class={failure === undefined ? "" : "bad-text"}>
                  {failure === undefined ? "returned" : `${failure.name}: ${failure.message}`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
