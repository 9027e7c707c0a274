/** Pieces that all views share: times, links to transactions and items, empty states, faults. */
import { createContext, type ComponentChildren, type JSX } from "preact";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Level, WireItem } from "../wire.ts";
import { AskError } from "./api.ts";
import { clockText, keyText, momentText, shortId } from "./format.ts";
import { pathToItem, pathToTransaction } from "./route.ts";

/** A time of day, whole when pointed at. */
export function Time({ at }: { readonly at: number }): JSX.Element {
  return (
    <time class="number" dateTime={new Date(at / 1_000).toISOString()} title={momentText(at)}>
      {clockText(at).slice(0, 12)}
    </time>
  );
}

export function TransactionLink({ id }: { readonly id: string }): JSX.Element {
  return (
    <a class="code" href={pathToTransaction(id)} title={id} aria-label={`transaction ${id}`}>
      {shortId(id)}
    </a>
  );
}

/** Names of the registered tables: of others, such as the deployment's own, there is no page. */
export const KnownTables = createContext<ReadonlySet<string>>(new Set());

export function ItemLink(props: {
  readonly table: string;
  readonly k: WireItem;
  /** Whether the table's name stands before it. */
  readonly isNamed?: boolean;
}): JSX.Element {
  const { table, k, isNamed = true } = props;
  const isKnown = useContext(KnownTables).has(table);
  const text = keyText(k);
  const content = (
    <>
      {isNamed ? <span class="faint">{table} </span> : null}
      <span class="code">{text}</span>
    </>
  );
  if (!isKnown) return <span class="key">{content}</span>;
  return (
    <a
      class="key"
      href={pathToItem(table, k)}
      title={`${table} ${text}`}
      aria-label={`item ${text} of table ${table}`}
    >
      {content}
    </a>
  );
}

const marks: Readonly<Record<Level, string>> = { fine: "✓", unknown: "?", warning: "!", bad: "✕" };
const levelNames: Readonly<Record<Level, string>> = {
  fine: "fine",
  unknown: "not known",
  warning: "look at it",
  bad: "bad",
};

/** Tells it by a shape and a word besides the colour. */
export function Mark({ level }: { readonly level: Level }): JSX.Element {
  return (
    <span class={`mark ${level}`} role="img" aria-label={levelNames[level]}>
      {marks[level]}
    </span>
  );
}

export function Empty(props: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children}
    </div>
  );
}

export function Fault({ error }: { readonly error: AskError }): JSX.Element {
  return (
    <div class="fault" role="alert">
      <Mark level="bad" /> <span>{error.message}</span>
    </div>
  );
}

/** Within a list of attributes. */
export function Fact(props: {
  readonly name: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd class="wrap">{props.children}</dd>
    </div>
  );
}

export function Panel(props: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly class?: string;
}): JSX.Element {
  return (
    <section class={`panel ${props.class ?? ""}`} aria-label={props.title}>
      <header class="panel-head">
        <h2>{props.title}</h2>
        {props.aside === undefined ? null : <div class="panel-aside">{props.aside}</div>}
      </header>
      {props.children}
    </section>
  );
}

export type Asked<Answer> = {
  readonly answer: Answer | undefined;
  readonly error: AskError | undefined;
  readonly isBusy: boolean;
  readonly again: () => void;
};

type Answered<Answer> = {
  readonly question: string;
  readonly answer: Answer | undefined;
  readonly error: AskError | undefined;
  readonly isBusy: boolean;
};

/** Asks when what names the question changes, or again; an answer to another one is none. */
export function useAsked<Answer>(
  question: string,
  put: (signal: AbortSignal) => Promise<Answer>,
): Asked<Answer> {
  const nothing: Answered<Answer> = { question, answer: undefined, error: undefined, isBusy: true };
  const [state, setState] = useState(nothing);
  const [round, setRound] = useState(0);
  const latest = useRef(put);
  latest.current = put;
  useEffect(() => {
    const left = new AbortController();
    const settle = (done: Pick<Answered<Answer>, "answer" | "error">): void => {
      if (!left.signal.aborted) setState({ question, ...done, isBusy: false });
    };
    setState((old) => (old.question === question ? { ...old, isBusy: true } : nothing));
    latest.current(left.signal).then(
      (answer) => {
        settle({ answer, error: undefined });
      },
      (thrown: unknown) => {
        const error =
          thrown instanceof AskError ? thrown : new AskError("internal", String(thrown));
        settle({ answer: undefined, error });
      },
    );
    return () => {
      left.abort();
    };
  }, [question, round]);
  const again = useCallback(() => {
    setRound((each) => each + 1);
  }, []);
  return { ...(state.question === question ? state : nothing), again };
}

/** Calls it again and again while this is shown and the tab is looked at. */
export function useEvery(ms: number, call: () => void, isOn = true): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, ms);
    return () => {
      clearInterval(timer);
    };
  }, [ms, isOn]);
}

export function Busy({ isBusy }: { readonly isBusy: boolean }): JSX.Element {
  return (
    <span class="busy" aria-live="polite">
      {isBusy ? "reading…" : ""}
    </span>
  );
}
