/** The last minutes as charts, and their newest numbers as a table. */
import type { JSX } from "preact";
import type { Second } from "../wire.ts";
import { Chart } from "./chart.tsx";
import { countText, spanText } from "./format.ts";
import type { Live } from "./live.ts";

const chartSeconds = 300;
const chartSecondsMin = 60;
const listedSeconds = 10;

export function committedIn({ express, stream, vote, part }: Second): number {
  return express + stream + vote + part;
}

export function Charts({ live }: { readonly live: Live }): JSX.Element {
  const times = wholeSeconds(live);
  const known = new Map(live.seconds.map((each) => [each.at, each]));
  const of = (pick: (second: Second) => number) =>
    times.map((at) => {
      const second = known.get(at);
      return second === undefined ? 0 : pick(second);
    });
  const lag = times.map((at) => known.get(at)?.lagMs ?? null);
  const whole = (value: number): string => countText(Math.round(value));
  return (
    <div class="charts">
      <Chart
        title="Commits"
        unit="per second"
        times={times}
        text={whole}
        lines={[
          {
            label: "express",
            color: "--way-express",
            values: of((s) => s.express),
            isFilled: true,
          },
          { label: "stream", color: "--way-stream", values: of((s) => s.stream) },
          { label: "vote or shards", color: "--way-vote", values: of((s) => s.vote + s.part) },
        ]}
      />
      <Chart
        title="Conflicts"
        unit="per second"
        times={times}
        text={whole}
        lines={[
          { label: "aborted", color: "--bad", values: of((s) => s.conflicts), isFilled: true },
          { label: "sent again", color: "--warning", values: of((s) => s.again) },
        ]}
      />
      <Chart
        title="Watermark lag"
        unit="milliseconds"
        times={times}
        text={spanText}
        lines={[{ label: "lag", color: "--lag", values: lag, isFilled: true }]}
      />
      <details class="chart-numbers">
        <summary>The last ten seconds as numbers</summary>
        <Numbers times={times.slice(-listedSeconds)} known={known} />
      </details>
    </div>
  );
}

/** Whole ones, without gaps: of a second in which nothing happened nothing is told. */
function wholeSeconds({ seconds, aheadMs }: Live): readonly number[] {
  const now = Math.floor((Date.now() + aheadMs) / 1_000) - 1;
  const oldest = Math.min(seconds[0]?.at ?? now, now - chartSecondsMin + 1);
  const first = Math.max(now - chartSeconds + 1, oldest);
  return Array.from({ length: now - first + 1 }, (_unused, at) => first + at);
}

function Numbers(props: {
  readonly times: readonly number[];
  readonly known: ReadonlyMap<number, Second>;
}): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">second (UTC)</th>
            <th scope="col" class="right">
              commits
            </th>
            <th scope="col" class="right">
              conflicts
            </th>
            <th scope="col" class="right">
              lag
            </th>
          </tr>
        </thead>
        <tbody>
          {props.times.map((at) => {
            const second = props.known.get(at);
            return (
              <tr key={at}>
                <td class="number">{new Date(at * 1_000).toISOString().slice(11, 19)}</td>
                <td class="right number">{second === undefined ? 0 : committedIn(second)}</td>
                <td class="right number">{second?.conflicts ?? 0}</td>
                <td class="right number">
                  {second?.lagMs === undefined ? "–" : spanText(second.lagMs)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
