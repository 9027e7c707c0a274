/** The page: its head, its views, and what the keyboard does. */
// First: what is imported below may ask for it.
import "./language.ts";
import { render, type JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { About, FaultState } from "../wire.ts";
import { ask, takeToken } from "./api.ts";
import { BasesView } from "./bases.tsx";
import { ConflictsView } from "./conflicts.tsx";
import { FaultsView } from "./faults.tsx";
import { FeedsView } from "./feeds.tsx";
import { Help } from "./help.tsx";
import { ItemView } from "./item.tsx";
import { LiveStream, type Live } from "./live.ts";
import { LogView } from "./log.tsx";
import { Overview } from "./overview.tsx";
import { KnownTables, useAsked, useEvery } from "./parts.tsx";
import { goTo, pathTo, pathToBase, pathToTransaction, useRoute, type Route } from "./route.ts";
import { ShardsView } from "./shards.tsx";
import { TablesView } from "./tables.tsx";
import { TransactionView } from "./transaction.tsx";
import "./style.css";

takeToken();
const stream = new LiveStream();

/** Tables are registered, and their oldest moments move on. */
const aboutAgainMs = 20_000;

function useLive(): Live {
  const [live, setLive] = useState(stream.now);
  useEffect(() => {
    let frame = 0;
    // As often as is drawn, and no oftener.
    const changed = (): void => {
      if (frame !== 0) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        setLive(stream.now);
      });
    };
    const stop = stream.listen(changed);
    changed();
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, []);
  return live;
}

type View = { readonly name: string; readonly title: string };

const views: readonly View[] = [
  { name: "overview", title: "Overview" },
  { name: "log", title: "Log" },
  { name: "conflicts", title: "Conflicts" },
  { name: "transaction", title: "Transaction" },
  { name: "tables", title: "Tables" },
  { name: "base", title: "BASE" },
  { name: "feeds", title: "Feeds" },
  { name: "shards", title: "Shards" },
  { name: "faults", title: "Faults" },
];

function App(): JSX.Element {
  const live = useLive();
  const route = useRoute();
  const [helpShown, setHelpShown] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { answer: about, again } = useAsked(`about ${live.connection}`, (signal) =>
    ask<About>("/api/about", {}, signal),
  );
  useEvery(aboutAgainMs, again);
  const known = useMemo(() => new Set(about?.tables.map(({ name }) => name)), [about]);
  useKeys(() => {
    setHelpShown((shown) => !shown);
  });
  const isFirst = useRef(true);
  useEffect(() => {
    const title = views.find(({ name }) => name === route.view)?.title ?? route.view;
    document.title = `${title} · Tidemark console`;
    // Who follows a link by the keyboard goes on in what it has opened.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    showCurrent();
    isFirst.current = false;
  }, [route.view, route.words.join("/")]);
  return (
    <>
      <a class="skip" href="#main" onClick={skipTo(main)}>
        Skip to the view
      </a>
      <Head live={live} about={about} route={route} />
      <main id="main" ref={main} tabIndex={-1}>
        <Notices live={live} />
        <KnownTables.Provider value={known}>
          <ViewOf live={live} about={about} route={route} />
        </KnownTables.Provider>
      </main>
      <footer class="foot">
        All times are UTC. Reads only; times of the protocol come from the log.{" "}
        <button
          type="button"
          class="link"
          onClick={() => {
            setHelpShown(true);
          }}
        >
          Keyboard <kbd>?</kbd>
        </button>
      </footer>
      {helpShown ? (
        <Help
          views={views.map(({ title }) => title)}
          close={() => {
            setHelpShown(false);
          }}
        />
      ) : null}
    </>
  );
}

const navMargin = 12;

/** In a narrow window the views' names are scrolled; `scrollIntoView` would move the Tab key, too. */
function showCurrent(): void {
  const current = document.querySelector<HTMLElement>("nav a[aria-current]");
  const list = current?.parentElement;
  if (current === null || list === null || list === undefined) return;
  const { offsetLeft: left, offsetWidth: width } = current;
  const isSeen = left >= list.scrollLeft && left + width <= list.scrollLeft + list.clientWidth;
  if (!isSeen) list.scrollLeft = left - navMargin;
}

function skipTo(main: { readonly current: HTMLElement | null }) {
  return (event: Event): void => {
    event.preventDefault();
    main.current?.focus();
  };
}

function ViewOf(props: {
  readonly live: Live;
  readonly about: About | undefined;
  readonly route: Route;
}): JSX.Element {
  const { live, about, route } = props;
  switch (route.view) {
    case "log":
      return <LogView live={live} route={route} />;
    case "transaction":
      return <TransactionView live={live} route={route} />;
    case "conflicts":
      return <ConflictsView about={about} route={route} />;
    case "tables":
      return <TablesView about={about} live={live} route={route} />;
    case "base":
      return <BasesView route={route} />;
    case "feeds":
      return <FeedsView route={route} />;
    case "item":
      return <ItemView route={route} />;
    case "faults":
      return <FaultsView live={live} note={noteFaults} />;
    case "shards":
      return <ShardsView live={live} />;
    default:
      return <Overview live={live} about={about} />;
  }
}

function noteFaults(faults: FaultState): void {
  stream.noteFaults(faults);
}

function Notices({ live }: { readonly live: Live }): JSX.Element {
  return (
    <div aria-live="polite">
      {live.connection === "lost" ? (
        <p class="notice warning">
          The console’s server does not answer. This page tries again by itself; what it shows is
          old.
        </p>
      ) : null}
      {live.connection === "refused" ? (
        <p class="notice bad">
          This console asks for its token: open it by the whole address that was printed when it
          started, with what follows the #.
        </p>
      ) : null}
      {live.trouble === undefined ? null : (
        <p class="notice warning">The deployment cannot be read just now: {live.trouble}</p>
      )}
    </div>
  );
}

const connections = {
  connecting: "connecting",
  live: "live",
  lost: "no answer",
  refused: "no token",
} as const;

function Head(props: {
  readonly live: Live;
  readonly about: About | undefined;
  readonly route: Route;
}): JSX.Element {
  const { live, about, route } = props;
  const health = live.state?.health;
  const healthText = { fine: "healthy", warning: "look at it", bad: "unhealthy" };
  return (
    <header class="head">
      <div class="head-row">
        <a class="brand" href="#/">
          Tidemark
        </a>
        <span class="where">{about === undefined ? "" : `${about.deployment} ${about.place}`}</span>
        <span class={`health ${health ?? "unknown"}`}>
          {health === undefined ? "…" : healthText[health]}
        </span>
        <span class={`connection ${live.connection}`}>{connections[live.connection]}</span>
        <Clock aheadMs={live.aheadMs} />
        <Search about={about} />
      </div>
      <nav aria-label="Views">
        {views.map(({ name, title }, at) => (
          <a
            key={name}
            href={name === "overview" ? "#/" : `#/${name}`}
            aria-current={isWithin(route.view, name) ? "page" : undefined}
            aria-keyshortcuts={(at + 1).toString()}
          >
            {title}
          </a>
        ))}
      </nav>
    </header>
  );
}

function isWithin(view: string, name: string): boolean {
  return view === name || (view === "item" && name === "tables");
}

function Clock({ aheadMs }: { readonly aheadMs: number }): JSX.Element {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
    }, 1_000);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return (
    <span class="clock number">{new Date(now + aheadMs).toISOString().slice(11, 19)} UTC</span>
  );
}

function Search({ about }: { readonly about: About | undefined }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const pressed = (event: Event): void => {
      if ((event as CustomEvent<string>).detail === "/") field.current?.focus();
    };
    addEventListener("console-key", pressed);
    return () => {
      removeEventListener("console-key", pressed);
    };
  }, []);
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const text = field.current?.value.trim() ?? "";
        if (text === "") return;
        goTo(pathToFound(text, about?.tables ?? []));
        if (field.current !== null) field.current.value = "";
      }}
    >
      <input
        ref={field}
        type="search"
        aria-label="Transaction id, name of a table, or name/id of a BASE transaction"
        aria-keyshortcuts="/"
        placeholder="id or table  /"
        list="known-tables"
      />
      <datalist id="known-tables">
        {about?.tables.slice(0, 200).map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </form>
  );
}

function pathToFound(text: string, tables: readonly { readonly name: string }[]): string {
  if (tables.some(({ name }) => name === text)) return pathTo(["tables", text]);
  // No name of a table, and no id of a transaction, has a slash.
  if (/^[\w.-]+\/./u.test(text)) return pathToBase(text);
  // Of an id that is cut short it is said how long one is; of a word, that no table is called so.
  return /^[0-9a-f]{8,}$/iu.test(text) ? pathToTransaction(text) : pathTo(["tables", text]);
}

/** Single keys, where nobody types, unless they are switched off. */
function useKeys(toggleHelp: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "?") {
        toggleHelp();
        return;
      }
      if (sessionStorage.getItem("tidemark-console-keys") === "off") return;
      const view = views[Number(event.key) - 1];
      if (view !== undefined) goTo(view.name === "overview" ? "#/" : `#/${view.name}`);
      else if (event.key === "/" || event.key === "p") {
        event.preventDefault();
        dispatchEvent(new CustomEvent("console-key", { detail: event.key }));
      }
    };
    addEventListener("keydown", pressed);
    return () => {
      removeEventListener("keydown", pressed);
    };
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName);
}

const place = document.getElementById("page");
if (place !== null) {
  place.replaceChildren();
  render(<App />, place);
  stream.start();
}
