/** The log as it grows, and back in time: pausable, filtered, and never endless. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { BlockLine, LogPage, ShardLine, VerdictLine } from "../wire.ts";
import { ask } from "./api.ts";
import { BlockRows } from "./block-rows.tsx";
import { keyText, plural } from "./format.ts";
import type { Live } from "./live.ts";
import { Empty, Fault, Panel, useAsked } from "./parts.tsx";
import { goTo, pathTo, type Route } from "./route.ts";

const shownMax = 100;
const kinds = ["committed", "aborted", "prepared", "stale", "busy"] as const;

export function LogView({ live, route }: { readonly live: Live; readonly route: Route }) {
  const shard = route.query.get("shard");
  const before = route.query.get("before");
  if (shard !== null) return <Past live={live} shard={shard} before={before ?? undefined} />;
  return <Growing live={live} />;
}

function Growing({ live }: { readonly live: Live }): JSX.Element {
  const [held, setHeld] = useState<readonly BlockLine[] | undefined>(undefined);
  const [wanted, setWanted] = useState("");
  const [kind, setKind] = useState("");
  useEffect(() => {
    const pressed = (event: Event): void => {
      if ((event as CustomEvent<string>).detail !== "p") return;
      setHeld((old) => (old === undefined ? live.blocks : undefined));
    };
    addEventListener("console-key", pressed);
    return () => {
      removeEventListener("console-key", pressed);
    };
  }, [live.blocks]);
  const all = held ?? live.blocks;
  const found = filtered(all, wanted.trim().toLowerCase(), kind);
  const shown = found.slice(-shownMax).reverse();
  const shards = live.state?.shards ?? [];
  return (
    <Panel title="Log" aside={held === undefined ? "newest first, live" : "paused: nothing moves"}>
      <div class="controls">
        <button
          type="button"
          aria-pressed={held !== undefined}
          onClick={() => {
            setHeld(held === undefined ? live.blocks : undefined);
          }}
        >
          {held === undefined ? "Pause" : "Go on"} <kbd>p</kbd>
        </button>
        <Filters wanted={wanted} setWanted={setWanted} kind={kind} setKind={setKind} />
        <FurtherBack shards={shards} />
      </div>
      {live.skipped > 0 ? (
        <p class="note">
          {plural(live.skipped, "block")} came faster than this list shows them; “further back” has
          them all.
        </p>
      ) : null}
      {shown.length === 0 ? (
        <Empty title={all.length === 0 ? "No block yet." : "Nothing of that among these."}>
          <p>
            {all.length === 0
              ? "Each commit appends one, or shares one with others."
              : `${plural(all.length, "block")} were looked through: the newest ones.`}
          </p>
        </Empty>
      ) : (
        <BlockRows blocks={shown} isSharded={shards.length > 1} />
      )}
      {found.length > shown.length ? (
        <p class="faint">
          The newest {shown.length} of {found.length} that this page holds.
        </p>
      ) : null}
    </Panel>
  );
}

function Filters(props: {
  readonly wanted: string;
  readonly setWanted: (text: string) => void;
  readonly kind: string;
  readonly setKind: (kind: string) => void;
}): JSX.Element {
  return (
    <>
      <label class="field grow">
        <span>Contains</span>
        <input
          type="search"
          value={props.wanted}
          placeholder="id, table or key"
          onInput={(event) => {
            props.setWanted(event.currentTarget.value);
          }}
        />
      </label>
      <label class="field">
        <span>Verdicts</span>
        <select
          value={props.kind}
          onChange={(event) => {
            props.setKind(event.currentTarget.value);
          }}
        >
          <option value="">all</option>
          {kinds.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

function FurtherBack({ shards }: { readonly shards: readonly ShardLine[] }): JSX.Element {
  return (
    <label class="field">
      <span>Further back</span>
      <select
        value=""
        onChange={(event) => {
          goTo(pathTo(["log"], { shard: event.currentTarget.value }));
        }}
      >
        <option value="">choose a shard</option>
        {shards.map(({ number, end }) => (
          <option key={number} value={number}>
            shard {number}, {plural(end?.position ?? 0, "block")}
          </option>
        ))}
      </select>
    </label>
  );
}

function filtered(
  blocks: readonly BlockLine[],
  wanted: string,
  kind: string,
): readonly BlockLine[] {
  if (wanted === "" && kind === "") return blocks;
  return blocks.flatMap((block) => {
    const verdicts = block.verdicts.filter(
      (each) => (kind === "" || each.kind === kind) && contains(each, wanted),
    );
    return verdicts.length === 0 ? [] : [{ ...block, verdicts, more: 0 }];
  });
}

function contains({ id, tables, writes = [], detail = "" }: VerdictLine, wanted: string): boolean {
  if (wanted === "" || id.includes(wanted) || detail.toLowerCase().includes(wanted)) return true;
  if (tables.some(({ name }) => name.toLowerCase().includes(wanted))) return true;
  return writes.some(({ key }) => keyText(key).toLowerCase().includes(wanted));
}

function Past(props: {
  readonly live: Live;
  readonly shard: string;
  readonly before: string | undefined;
}): JSX.Element {
  const { live, shard, before } = props;
  const { answer, error, isBusy } = useAsked(`log ${shard} ${before ?? ""}`, (signal) =>
    ask<LogPage>("/api/log", { shard, before }, signal),
  );
  return (
    <Panel title={`Log of shard ${shard}`} aside="newest first">
      <div class="controls">
        <a class="button" href="#/log">
          Live again
        </a>
        {before === undefined ? null : (
          <a class="button" href={pathTo(["log"], { shard })}>
            Newest
          </a>
        )}
        {answer?.before === undefined ? null : (
          <a class="button" href={pathTo(["log"], { shard, before: answer.before })}>
            Older
          </a>
        )}
      </div>
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined && isBusy ? <p class="faint">reading…</p> : null}
      {answer?.blocks.length === 0 ? (
        <Empty title="No block lies there.">
          <p>The log keeps its blocks for eight days.</p>
        </Empty>
      ) : null}
      {answer === undefined ? null : (
        <BlockRows blocks={answer.blocks} isSharded={(live.state?.shards.length ?? 1) > 1} />
      )}
    </Panel>
  );
}
