/** Where in the console the address is: what stands behind its `#`. */
import { useEffect, useState } from "preact/hooks";
import type { WireItem } from "../wire.ts";

export type Route = {
  readonly view: string;
  readonly words: readonly string[];
  readonly query: URLSearchParams;
};

function current(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view = "", ...words] = path.split("/").map(decoded);
  return { view: view === "" ? "overview" : view, words, query: new URLSearchParams(query) };
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

export function useRoute(): Route {
  const [route, setRoute] = useState(current);
  useEffect(() => {
    const changed = (): void => {
      setRoute(current());
    };
    addEventListener("hashchange", changed);
    return () => {
      removeEventListener("hashchange", changed);
    };
  }, []);
  return route;
}

type Query = Readonly<Record<string, string | number | undefined>>;

export function pathTo(words: readonly string[], query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value.toString()]],
  );
  const text = new URLSearchParams(given).toString();
  const path = `#/${words.map(encodeURIComponent).join("/")}`;
  return text === "" ? path : `${path}?${text}`;
}

/** @param replaces as a slider does on its way: going back skips it. */
export function goTo(path: string, replaces = false): void {
  if (!replaces) {
    location.hash = path;
    return;
  }
  history.replaceState(null, "", path);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function pathToTransaction(id: string): string {
  return pathTo(["transaction", id]);
}

export function pathToItem(table: string, key: WireItem): string {
  return pathTo(["item", table, JSON.stringify(key)]);
}

/** @param base its handler's name and its id: names have no slash. */
export function pathToBase(base: string): string {
  const at = base.indexOf("/");
  return pathTo(["base", base.slice(0, at), base.slice(at + 1)]);
}
