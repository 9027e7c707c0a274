/** One transaction: what is known of its course, from its first read to its last install. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Step, StepKey, Story } from "../wire.ts";
import { ask } from "./api.ts";
import { momentText, spanText } from "./format.ts";
import type { Live } from "./live.ts";
import {
  Busy,
  Empty,
  Fault,
  ItemLink,
  Mark,
  Panel,
  Time,
  TransactionLink,
  useAsked,
} from "./parts.tsx";
import { goTo, pathTo, pathToTransaction, type Route } from "./route.ts";

export function TransactionView({ live, route }: { readonly live: Live; readonly route: Route }) {
  const [id] = route.words;
  if (id === undefined || id === "") return <Choose live={live} />;
  return <Course id={id} />;
}

function Choose({ live }: { readonly live: Live }): JSX.Element {
  const [text, setText] = useState("");
  const recent = live.blocks
    .flatMap(({ verdicts }) => verdicts)
    .slice(-12)
    .reverse();
  return (
    <Panel title="Transaction">
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") goTo(pathToTransaction(text.trim()));
        }}
      >
        <label class="field grow">
          <span>Id</span>
          <input
            class="code"
            value={text}
            placeholder="32 hexadecimal digits, of a receipt or an error"
            onInput={(event) => {
              setText(event.currentTarget.value);
            }}
          />
        </label>
        <button type="submit">Look it up</button>
      </form>
      {recent.length === 0 ? (
        <Empty title="No transaction has been decided lately.">
          <p>A receipt has its id, and so has a CommitUnknownError.</p>
        </Empty>
      ) : (
        <>
          <h3>Newest ones</h3>
          <ul class="plain">
            {recent.map((each, at) => (
              <li key={`${each.id} ${at}`}>
                <span class={`kind ${each.kind}`}>{each.kind}</span>{" "}
                <TransactionLink id={each.id} />
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

const levels = {
  committed: "fine",
  aborted: "bad",
  open: "warning",
  undecided: "unknown",
  unknown: "unknown",
} as const;

const sources: Readonly<Record<Step["from"], string>> = {
  id: "its id",
  client: "its client",
  log: "the log",
  stream: "the stream",
  tables: "the tables",
};

function Course({ id }: { readonly id: string }): JSX.Element {
  const { answer, error, isBusy, again } = useAsked(`transaction ${id}`, (signal) =>
    ask<Story>(`/api/transactions/${encodeURIComponent(id)}`, {}, signal),
  );
  return (
    <Panel
      title="Transaction"
      aside={
        <>
          <Busy isBusy={isBusy} />
          <button type="button" onClick={again}>
            Look again
          </button>
        </>
      }
    >
      <p class="headline">
        {answer === undefined ? null : <Mark level={levels[answer.standing]} />}{" "}
        <span class="code wrap">{id}</span>{" "}
        {answer === undefined ? null : <b class="standing">{answer.standing}</b>}
      </p>
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined ? null : <Steps story={answer} />}
      {answer?.steps.some(({ from }) => from === "client") === false ? (
        <p class="note">
          What its client did before it sent anything only the client knows; of the traffic that
          this console makes it is shown.
        </p>
      ) : null}
    </Panel>
  );
}

function Steps({ story }: { readonly story: Story }): JSX.Element {
  const first = story.steps.find(({ at }) => at !== undefined)?.at;
  return (
    <ol class="course" aria-label="its course">
      {story.steps.map((step, at) => (
        <li key={at} class={`step ${step.level}`}>
          <div class="step-time">
            {step.at === undefined ? <span class="faint">–</span> : <Time at={step.at} />}
            <span class="faint number">
              {step.at === undefined || first === undefined || at === 0
                ? ""
                : sinceText((step.at - first) / 1_000)}
            </span>
          </div>
          <div class="step-text">
            <p>
              <Mark level={step.level} /> <b class="step-kind">{step.kind}</b> {step.text}{" "}
              {step.other === undefined ? null : <TransactionLink id={step.other} />}{" "}
              {step.place === undefined ? null : (
                <a
                  href={pathTo(["log"], {
                    shard: step.place.shard,
                    before: step.place.position + 1,
                  })}
                >
                  block {step.place.shard}/{step.place.position}
                </a>
              )}{" "}
              <span class="faint">says {sources[step.from]}</span>
            </p>
            {step.keys === undefined ? null : <Keys keys={step.keys} />}
          </div>
        </li>
      ))}
    </ol>
  );
}

function sinceText(ms: number): string {
  if (Math.abs(ms) < 10_000) return `${ms < 0 ? "−" : "+"}${Math.abs(ms).toFixed(1)} ms`;
  return `+${spanText(ms)}`;
}

function Keys({ keys }: { readonly keys: readonly StepKey[] }): JSX.Element {
  return (
    <ul class="plain keys">
      {keys.map((each, at) => (
        <li key={at}>
          {each.state === undefined ? null : (
            <span class={`state ${each.state}`} title={`as of ${momentText(Date.now() * 1_000)}`}>
              {each.state}
            </span>
          )}{" "}
          {each.op === "delete" ? <span class="delete">delete</span> : null}{" "}
          <ItemLink table={each.table} k={each.key} />
        </li>
      ))}
    </ul>
  );
}
