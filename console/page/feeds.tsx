/** Consumers of changes: how far each is behind, what ails it, and one with its shards. */
import type { JSX } from "preact";
import type { FeedLine, FeedsPage } from "../wire.ts";
import { ask } from "./api.ts";
import { momentText, plural, spanText } from "./format.ts";
import { Busy, Empty, Fact, Fault, Mark, Panel, useAsked, useEvery } from "./parts.tsx";
import { pathTo, type Route } from "./route.ts";

const againMs = 3_000;
/** Enough to tell two holders apart. */
const holderShown = 8;

export function FeedsView({ route }: { readonly route: Route }): JSX.Element {
  const [name = ""] = route.words;
  const { answer, error, isBusy, again } = useAsked("feeds", (signal) =>
    ask<FeedsPage>("/api/feeds", {}, signal),
  );
  useEvery(againMs, again, !isBusy);
  const all = answer === undefined ? "" : `${answer.feeds.length}${answer.isCut ? " shown" : ""}`;
  return (
    <Panel
      title={name === "" ? "Feeds" : "Feed"}
      aside={
        name === "" ? (
          all
        ) : (
          <>
            <Busy isBusy={isBusy && answer === undefined} />
            <a href={pathTo(["feeds"])}>all feeds</a>
          </>
        )
      }
    >
      {error === undefined ? null : <Fault error={error} />}
      {answer === undefined ? (
        <p class="faint">{isBusy ? "reading…" : ""}</p>
      ) : name === "" ? (
        <All page={answer} />
      ) : (
        <One page={answer} name={name} />
      )}
    </Panel>
  );
}

function All({ page }: { readonly page: FeedsPage }): JSX.Element {
  const { feeds, removed, isCut, isDenied } = page;
  if (isDenied) {
    return (
      <Empty title="There is no right to see them.">
        <p>Policy read-only has it, as this release’s module makes it.</p>
      </Empty>
    );
  }
  const ill = feeds.find(({ level }) => level === "bad");
  return (
    <>
      {ill === undefined ? null : <Ill feed={ill} />}
      {feeds.length === 0 ? (
        <Empty title="There is no feed.">
          <p>No consumer of changes with a name has begun: db.consume, or feedHandler.</p>
        </Empty>
      ) : (
        <List page={page} />
      )}
      {isCut ? <p class="faint">There are more, which are not looked at.</p> : null}
      {removed.length === 0 ? null : (
        <p class="faint">
          Removed: <span class="wrap">{removed.join(", ")}</span>
        </p>
      )}
    </>
  );
}

function Ill({ feed }: { readonly feed: FeedLine }): JSX.Element {
  return (
    <p class="notice bad">
      <a href={pathTo(["feeds", feed.name])}>{feed.name}</a> {feed.text}
      {feed.remedy === undefined ? "." : `: ${feed.remedy}.`}
    </p>
  );
}

function List({ page: { feeds, nowMs } }: { readonly page: FeedsPage }): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">state</th>
            <th scope="col">name</th>
            <th scope="col" class="right">
              behind
            </th>
            <th scope="col" class="right">
              blocks
            </th>
            <th scope="col">position (UTC)</th>
            <th scope="col">held by</th>
            <th scope="col" class="right">
              last progress
            </th>
            <th scope="col" class="right">
              failures
            </th>
            <th scope="col" class="right">
              failing for
            </th>
            <th scope="col">last failure</th>
          </tr>
        </thead>
        <tbody>
          {feeds.map((feed) => (
            <FeedRow key={feed.name} {...{ feed, nowMs }} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function FeedRow({ feed, nowMs }: { readonly feed: FeedLine; readonly nowMs: number }) {
  const { name, at, holder, failures, failure = "–" } = feed;
  return (
    <tr>
      <td>
        <Standing feed={feed} />
      </td>
      <th scope="row">
        <a href={pathTo(["feeds", name])}>{name}</a>
      </th>
      <td class="right number">{behindText(feed)}</td>
      <td class="right number">{feed.behindBlocks ?? "–"}</td>
      <td class="number">{at === undefined ? "–" : momentText(at).slice(0, 19)}</td>
      <td class="code">{holder === undefined ? "nobody" : holder.slice(0, holderShown)}</td>
      <td class="right number">{agoText(feed.movedMs, nowMs)}</td>
      <td class="right number">{failures ?? "–"}</td>
      <td class="right number">{forText(feed.failingSinceMs, nowMs)}</td>
      <td class="code cell" title={failure}>
        {failure}
      </td>
    </tr>
  );
}

function Standing({ feed: { level, text } }: { readonly feed: FeedLine }): JSX.Element {
  return (
    <span class={level === "bad" ? "bad-text" : ""}>
      <Mark level={level} /> {text}
    </span>
  );
}

function behindText({ behindMs, isExpired }: Behind): string {
  if (isExpired === true) return "expired";
  if (behindMs === undefined) return "–";
  return behindMs === 0 ? "0" : spanText(behindMs);
}

type Behind = { readonly behindMs?: number; readonly isExpired?: boolean };

function agoText(ms: number | undefined, nowMs: number): string {
  return ms === undefined ? "–" : `${spanText(nowMs - ms)} ago`;
}

function forText(ms: number | undefined, nowMs: number): string {
  return ms === undefined ? "–" : spanText(nowMs - ms);
}

function One({ page, name }: { readonly page: FeedsPage; readonly name: string }): JSX.Element {
  const { feeds, removed, nowMs } = page;
  const feed = feeds.find((each) => each.name === name);
  if (feed === undefined) {
    const why = removed.includes(name) ? "It was removed." : "No consumer of that name has begun.";
    return (
      <Empty title={`There is no feed ${name}.`}>
        <p>{why}</p>
      </Empty>
    );
  }
  return (
    <>
      <p class="headline">
        <b class="wrap">{name}</b>
      </p>
      <p>
        <Standing feed={feed} />
      </p>
      {feed.remedy === undefined ? null : (
        <p class={feed.level === "bad" ? "notice bad" : "note"}>{feed.remedy}</p>
      )}
      <Facts feed={feed} nowMs={nowMs} />
      <Shards feed={feed} />
    </>
  );
}

function nobodyText({ heardMs }: FeedLine, nowMs: number): string {
  return heardMs === undefined ? "nobody" : `nobody, last heard of ${agoText(heardMs, nowMs)}`;
}

function Facts({ feed, nowMs }: { readonly feed: FeedLine; readonly nowMs: number }) {
  const { at, position, holder, heldForMs = 0, tables, tablesMore = 0, failures } = feed;
  const more = tablesMore === 0 ? "" : `, and ${tablesMore} more`;
  return (
    <dl class="attributes">
      <Fact name="position">
        {at === undefined ? (
          "none"
        ) : (
          <>
            {momentText(at)} <span class="code faint wrap">{position}</span>
          </>
        )}
      </Fact>
      <Fact name="behind">
        {behindText(feed)}
        {(feed.behindBlocks ?? 0) === 0 ? "" : `, ${plural(feed.behindBlocks ?? 0, "block")}`}
      </Fact>
      <Fact name="held by">
        {holder === undefined ? (
          nobodyText(feed, nowMs)
        ) : (
          <>
            <span class="code wrap">{holder}</span> for {spanText(heldForMs)} yet
          </>
        )}
      </Fact>
      {failures === undefined ? (
        <Fact name="told">nothing more: whoever was at it is of a release before this one</Fact>
      ) : (
        <>
          <Fact name="tables">{tables === undefined ? "all" : `${tables.join(", ")}${more}`}</Fact>
          <Fact name="last progress">{agoText(feed.movedMs, nowMs)}</Fact>
          {feed.resetMs === undefined ? null : (
            <Fact name="moved by an operator">{momentText(feed.resetMs * 1_000)}</Fact>
          )}
          <Fact name="failures in a row">{failures}</Fact>
          {feed.failingSinceMs === undefined ? null : (
            <Fact name="failing since">{momentText(feed.failingSinceMs * 1_000)}</Fact>
          )}
          {feed.failure === undefined ? null : (
            <Fact name="last failure">
              {feed.failedMs === undefined ? "" : momentText(feed.failedMs * 1_000)}{" "}
              <span class="code wrap">{feed.failure}</span>
            </Fact>
          )}
        </>
      )}
    </dl>
  );
}

/** The position is one for all of them; each log has another end. */
function Shards({ feed: { shards = [] } }: { readonly feed: FeedLine }): JSX.Element | null {
  if (shards.length === 0) return null;
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">shard</th>
            <th scope="col" class="right">
              behind
            </th>
            <th scope="col" class="right">
              blocks
            </th>
          </tr>
        </thead>
        <tbody>
          {shards.map((each) => (
            <tr key={each.shard}>
              <th scope="row">{each.shard}</th>
              <td class="right number">{behindText(each)}</td>
              <td class="right number">{each.behindBlocks}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
