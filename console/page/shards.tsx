/** The shards: whose hashes they have, and how their logs stand. */
import type { JSX } from "preact";
import type { ShardLine } from "../wire.ts";
import { bytesText, countText, rateText, spanText } from "./format.ts";
import type { Live } from "./live.ts";
import { Empty, Panel, Time } from "./parts.tsx";
import { pathTo } from "./route.ts";

export function ShardsView({ live }: { readonly live: Live }): JSX.Element {
  const { state } = live;
  if (state === undefined) {
    return (
      <Panel title="Shards">
        <Empty title={live.trouble ?? "Reading how they stand…"} />
      </Panel>
    );
  }
  const { shards, windowMs } = state;
  return (
    <Panel title="Shards" aside={`rates of the last ${spanText(windowMs)}`}>
      <div class="ranges" aria-hidden="true">
        {[...shards].sort(byRange).map((each) => (
          <span key={each.number} style={{ flexGrow: each.share }} title={`shard ${each.number}`}>
            {each.number}
          </span>
        ))}
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col" class="right">
                shard
              </th>
              <th scope="col">hashes from</th>
              <th scope="col" class="right">
                share
              </th>
              <th scope="col" class="right">
                log end
              </th>
              <th scope="col">newest (UTC)</th>
              <th scope="col" class="right">
                behind
              </th>
              <th scope="col" class="right">
                commits/s
              </th>
              <th scope="col" class="right">
                log/s
              </th>
              <th scope="col" class="right">
                open
              </th>
            </tr>
          </thead>
          <tbody>
            {shards.map((each) => (
              <Shard key={each.number} shard={each} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="note">
        A shard has the partitions whose hash lies in its range: shares of all hashes, not of all
        items. `tidemark shards split` and `join` change them while they run.
      </p>
    </Panel>
  );
}

function byRange(a: ShardLine, b: ShardLine): number {
  return a.from < b.from ? -1 : 1;
}

function Shard({ shard }: { readonly shard: ShardLine }): JSX.Element {
  const { number, name, from, share, end, waiting, commits, bytes, spanMs, open } = shard;
  const seconds = Math.max(1, spanMs / 1_000);
  return (
    <tr>
      <th scope="row" class="right number" title={name}>
        <a href={pathTo(["log"], { shard: number })}>{number}</a>
      </th>
      <td class="code">{from}</td>
      <td class="right number">{share.toFixed(1)} %</td>
      <td class="right number">{end === undefined ? "–" : countText(end.position)}</td>
      <td>{end === undefined || end.timestamp === 0 ? "–" : <Time at={end.timestamp} />}</td>
      <td class="right number">
        {waiting.blocks === 0
          ? "0"
          : `${countText(waiting.blocks)} (${spanText(waiting.oldestMs)})`}
      </td>
      <td class="right number">{rateText(commits / seconds)}</td>
      <td class="right number">{bytesText(Math.round(bytes / seconds))}</td>
      <td class="right number">{open}</td>
    </tr>
  );
}
