/**
 * Charts and tables of the report, as plain data: whoever has figures makes these, bench/report
 * draws them.
 */

export type Series = {
  readonly name: string;
  /**
   * Whoever appears in several charts keeps this number, and with it a colour; default: the place
   * in the chart.
   */
  readonly colour?: number;
  /** One per label; null leaves a gap. */
  readonly values: readonly (number | null)[];
  /** Lowest and highest of what was repeated, one per label. */
  readonly spread?: readonly (readonly [low: number, high: number] | null)[];
};

export type ChartSpec = {
  readonly kind: "bar" | "line";
  readonly title: string;
  /** What the axis of values shows, with its unit. */
  readonly unit: string;
  readonly labels: readonly string[];
  readonly series: readonly Series[];
  readonly logarithmic?: boolean;
  /** Values that a reader wants to compare with, as lines across. */
  readonly marks?: readonly { readonly name: string; readonly value: number }[];
};

export type TableSpec = {
  /** Undefined where the section's own title says it. */
  readonly title?: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

export type Section = {
  readonly title: string;
  /** Plain paragraphs. */
  readonly text: readonly string[];
  readonly parts: readonly (
    | { readonly kind: "chart"; readonly chart: ChartSpec }
    | { readonly kind: "table"; readonly table: TableSpec }
  )[];
};
