/** A small chart of the last minutes, by uPlot; its numbers stand beside it as text, too. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clockText } from "./format.ts";

export type Line = {
  readonly label: string;
  /** A custom property of the style sheet. */
  readonly color: string;
  readonly values: readonly (number | null)[];
  readonly isFilled?: boolean;
};

export type ChartProps = {
  readonly title: string;
  readonly unit: string;
  /** Seconds since the epoch. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly text: (value: number) => string;
};

const height = 132;

export function Chart(props: ChartProps): JSX.Element {
  const { title, unit, times, lines, text } = props;
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot | undefined>(undefined);
  const theme = useTheme();
  const names = lines.map(({ label }) => label).join("|");
  useEffect(() => {
    const holder = place.current;
    if (holder === null) return undefined;
    const made = new UPlot(optionsOf(props, holder.clientWidth), dataOf(props), holder);
    chart.current = made;
    const watch = new ResizeObserver(() => {
      made.setSize({ width: holder.clientWidth, height });
    });
    watch.observe(holder);
    return () => {
      watch.disconnect();
      made.destroy();
    };
  }, [theme, names]);
  useEffect(() => {
    chart.current?.setData(dataOf(props));
  }, [times, lines]);
  const latest = lines.map(({ label, values }) => {
    const value = values.at(-2) ?? values.at(-1) ?? 0;
    return `${label} ${text(value)}`;
  });
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <span class="legend">
          {lines.map(({ label, color }) => (
            <span key={label} class="legend-line">
              <i style={{ background: `var(${color})` }} aria-hidden="true" />
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div
        ref={place}
        class="chart-place"
        role="img"
        aria-label={`${title}, ${unit}, the last five minutes; now: ${latest.join(", ")}`}
      />
    </figure>
  );
}

function dataOf({ times, lines }: ChartProps): UPlot.AlignedData {
  return [[...times], ...lines.map(({ values }) => [...values])];
}

function optionsOf({ lines, text, unit }: ChartProps, width: number): UPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color("--faint"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    width,
    height,
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    legend: { show: false },
    padding: [8, 28, 0, 0],
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
    scales: {
      x: { time: true },
      y: { range: (_chart, _min, max) => [0, Math.max(4, max * 1.15)] },
    },
    axes: [
      {
        ...axis,
        size: 26,
        space: 72,
        values: (_chart, ticks) => ticks.map((each) => clockText(each * 1e6).slice(0, 8)),
      },
      { ...axis, size: 46, space: 34, values: (_chart, ticks) => ticks.map((each) => text(each)) },
    ],
    series: [
      {},
      ...lines.map(({ label, color: name, isFilled }) => ({
        label: `${label} (${unit})`,
        stroke: color(name),
        width: 1.5,
        points: { show: false },
        spanGaps: true,
        ...(isFilled === true ? { fill: `${color(name)}22` } : {}),
      })),
    ],
  };
}

/** A canvas takes its colours once: it is made anew when they change. */
function useTheme(): string {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const [theme, setTheme] = useState(dark.matches ? "dark" : "light");
  useEffect(() => {
    const changed = (): void => {
      setTheme(dark.matches ? "dark" : "light");
    };
    dark.addEventListener("change", changed);
    return () => {
      dark.removeEventListener("change", changed);
    };
  }, []);
  return theme;
}
