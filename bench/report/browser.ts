/**
 * The part of the report that runs in the reader's browser: draws each chart from the data beside
 * it, nothing else.
 */
import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  type ChartDataset,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  LogarithmicScale,
  PointElement,
  Tooltip,
} from "chart.js";
import type { ChartSpec, Series } from "./chart-spec.ts";

/** The little of a browser that is used here; the project is compiled without its types. */
type Canvas = { readonly dataset: { readonly chart?: string } };
type Pencil = {
  strokeStyle: string;
  lineWidth: number;
  save(): void;
  restore(): void;
  beginPath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  stroke(): void;
};
declare const document: { querySelectorAll(selector: string): Iterable<Canvas> };
declare const matchMedia: (query: string) => { readonly matches: boolean };

/** Told apart by people who see few colours, too (Okabe and Ito). */
const colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a8a8a"];
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const ink = dark ? "#d0d0d0" : "#333333";
const grid = dark ? "#3a3a3a" : "#e4e4e4";

Chart.register(
  ...[BarController, BarElement, LineController, LineElement, PointElement],
  ...[CategoryScale, LinearScale, LogarithmicScale, Legend, Tooltip],
);

for (const canvas of document.querySelectorAll("canvas[data-chart]")) {
  draw(canvas, JSON.parse(canvas.dataset.chart ?? "{}") as ChartSpec);
}

function draw(canvas: Canvas, spec: ChartSpec): void {
  new Chart(canvas, {
    type: spec.kind,
    data: { labels: [...spec.labels], datasets: [...datasets(spec), ...marks(spec)] as never },
    plugins: [spreads(spec)],
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      plugins: {
        legend: {
          position: "bottom",
          labels: { color: ink, boxWidth: 12, boxHeight: 12, usePointStyle: true },
        },
      },
      scales: {
        x: { ticks: { color: ink }, grid: { display: false } },
        y: {
          type: spec.logarithmic === true ? "logarithmic" : "linear",
          ...(spec.logarithmic === true ? {} : { beginAtZero: true }),
          suggestedMax: Math.max(
            0,
            ...spec.series.flatMap((series) => spans(series).map(({ high }) => high)),
          ),
          title: { display: true, text: spec.unit, color: ink },
          ticks: { color: ink },
          grid: { color: grid },
        },
      },
    },
  });
}

function datasets(spec: ChartSpec): ChartDataset<"bar" | "line", (number | null)[]>[] {
  return spec.series.map((series, n) => {
    const colour = colours[(series.colour ?? n) % colours.length] ?? ink;
    return {
      label: series.name,
      data: [...series.values],
      backgroundColor: colour,
      borderColor: colour,
      pointStyle: "rect" as const,
      ...(spec.kind === "line" ? { borderWidth: 2, pointRadius: 3, tension: 0 } : {}),
    };
  });
}

function marks(spec: ChartSpec): ChartDataset<"line", number[]>[] {
  return (spec.marks ?? []).map(({ name, value }) => ({
    type: "line",
    label: name,
    data: spec.labels.map(() => value),
    borderColor: ink,
    backgroundColor: ink,
    borderWidth: 1,
    borderDash: [5, 4],
    pointStyle: "line",
    pointRadius: 0,
  }));
}

/** A thin line from the lowest to the highest of what was repeated, at each bar or point. */
function spreads(spec: ChartSpec): { readonly id: string; afterDatasetsDraw(chart: Chart): void } {
  return {
    id: "spreads",
    afterDatasetsDraw(chart) {
      const { ctx } = chart as unknown as { readonly ctx: Pencil };
      const axis = chart.scales["y"];
      if (axis === undefined) return;
      ctx.save();
      ctx.strokeStyle = ink;
      ctx.lineWidth = 1;
      for (const [n, series] of spec.series.entries()) {
        if (!chart.isDatasetVisible(n)) continue;
        for (const { index, low, high } of spans(series)) {
          const x = chart.getDatasetMeta(n).data[index]?.x;
          if (x === undefined) continue;
          ctx.beginPath();
          ctx.moveTo(x, axis.getPixelForValue(low));
          ctx.lineTo(x, axis.getPixelForValue(high));
          ctx.stroke();
        }
      }
      ctx.restore();
    },
  };
}

function spans(series: Series): { index: number; low: number; high: number }[] {
  return (series.spread ?? []).flatMap((span, index) =>
    span === null ? [] : [{ index, low: span[0], high: span[1] }],
  );
}
