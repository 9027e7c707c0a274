/** How the deployment is right now. */
import type { JSX } from "preact";
import type { About, Second } from "../wire.ts";
import { Charts, committedIn } from "./charts.tsx";
import { countText, plural, rateText, spanText } from "./format.ts";
import type { Live } from "./live.ts";
import { BlockRows } from "./block-rows.tsx";
import { Empty, Mark, Panel, TransactionLink } from "./parts.tsx";

const recentSeconds = 10;
const recentBlocks = 12;

export function Overview({
  live,
  about,
}: {
  readonly live: Live;
  readonly about: About | undefined;
}) {
  const { state } = live;
  return (
    <>
      <Tiles live={live} />
      <Charts live={live} />
      <div class="columns">
        <Findings live={live} />
        <Panel title="Newest blocks" aside={<a href="#/log">all of the log</a>}>
          {live.blocks.length === 0 ? (
            <Empty title="Nothing has been committed yet.">
              <p>{firstSteps(about)}</p>
            </Empty>
          ) : (
            <BlockRows
              blocks={live.blocks.slice(-recentBlocks).reverse()}
              isSharded={(state?.shards.length ?? 1) > 1}
              isShort
            />
          )}
        </Panel>
      </div>
      {state !== undefined && state.openTotal > 0 ? <Open live={live} /> : null}
    </>
  );
}

function firstSteps(about: About | undefined): JSX.Element {
  if (about?.canBreak === true) {
    return (
      <>
        <a href="#/faults">Start some traffic</a> to see it at work, or commit with the SDK.
      </>
    );
  }
  return <>As soon as a client commits, it shows here.</>;
}

/** The second that goes on is not whole yet. */
function recent(live: Live): readonly Second[] {
  const now = Math.floor((Date.now() + live.aheadMs) / 1_000);
  return live.seconds.filter(({ at }) => at < now && at >= now - recentSeconds);
}

function Tiles({ live }: { readonly live: Live }): JSX.Element {
  const seconds = recent(live);
  const sum = (of: (second: Second) => number): number =>
    seconds.reduce((all, each) => all + of(each), 0);
  const lag = live.seconds.findLast(({ lagMs }) => lagMs !== undefined)?.lagMs;
  const commits = sum(committedIn);
  const express = sum((each) => each.express);
  return (
    <div class="tiles">
      <Tile
        label="commits / s"
        value={rateText(commits / recentSeconds)}
        note={commits === 0 ? "none lately" : `${Math.round((express / commits) * 100)} % express`}
      />
      <Tile
        label="conflicts / s"
        value={rateText(sum(({ conflicts }) => conflicts) / recentSeconds)}
        note={`${countText(sum(({ again }) => again))} sent again in ${recentSeconds} s`}
      />
      <Tile
        label="watermark lag"
        value={lag === undefined ? "–" : spanText(lag)}
        note={lag === 0 ? "all is installed" : "the oldest commit not vouched for"}
      />
      <Tile
        label="open"
        value={countText(live.state?.openTotal ?? 0)}
        note="prepared, not decided"
      />
      <Tile
        label="shards"
        value={countText(live.state?.shards.length ?? 0)}
        note={live.state === undefined ? "" : "a log each"}
      />
    </div>
  );
}

function Tile(props: { readonly label: string; readonly value: string; readonly note: string }) {
  return (
    <div class="tile" role="group" aria-label={props.label}>
      <span class="tile-label">{props.label}</span>
      <span class="tile-value number">{props.value}</span>
      <span class="tile-note">{props.note}</span>
    </div>
  );
}

const ranks = ["bad", "warning", "unknown", "fine"] as const;

function Findings({ live }: { readonly live: Live }): JSX.Element {
  const { state } = live;
  if (state === undefined) {
    return (
      <Panel title="Health">
        <Empty title={live.trouble ?? "Reading how it is…"} />
      </Panel>
    );
  }
  const all = ranks.flatMap((level) => state.findings.filter((each) => each.level === level));
  const ill = all.filter(({ level }) => level === "bad" || level === "warning");
  const shown = ill.length > 0 ? all.filter(({ level }) => level !== "fine") : all;
  return (
    <Panel title="Health" aside={`as \`tidemark status\` tells`}>
      <ul class="findings">
        {shown.slice(0, 24).map((each) => (
          <li key={`${each.about} ${each.shard ?? ""}`}>
            <Mark level={each.level} />
            <span>
              <b>{each.about}</b>
              {each.shard === undefined ? "" : ` of shard ${each.shard}`}: {each.text}
              {each.remedy === undefined ? null : <span class="remedy">→ {each.remedy}</span>}
            </span>
          </li>
        ))}
      </ul>
      {shown.length > 24 ? <p class="faint">{plural(shown.length - 24, "more finding")}</p> : null}
    </Panel>
  );
}

function Open({ live }: { readonly live: Live }): JSX.Element | null {
  const { state } = live;
  if (state === undefined) return null;
  const nowMs = Date.now() + live.aheadMs;
  return (
    <Panel title="Open transactions" aside={plural(state.openTotal, "transaction")}>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">id</th>
              <th scope="col" class="right">
                open for
              </th>
              <th scope="col" class="right">
                writes
              </th>
              <th scope="col" class="right">
                shards
              </th>
            </tr>
          </thead>
          <tbody>
            {state.open.map((each) => (
              <tr key={each.id}>
                <td>
                  <TransactionLink id={each.id} />
                </td>
                <td class="right number">{spanText(nowMs - each.since / 1_000)}</td>
                <td class="right number">{countText(each.writes)}</td>
                <td class="right number">{each.parts}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
