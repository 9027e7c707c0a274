/** One line of CloudWatch's embedded metric format: metrics, and what they were measured of. */

export type EmfUnit = "Count" | "Milliseconds";

export type EmfMetric = { readonly name: string; readonly unit: EmfUnit; readonly value: number };

/** @returns JSON without a line end. Properties are no dimensions: they are for Logs Insights. */
export function emfLine(
  of: {
    readonly namespace: string;
    readonly dimensions: Readonly<Record<string, string>>;
    readonly nowMs: number;
  },
  metrics: readonly EmfMetric[],
  properties: Readonly<Record<string, string | number>> = {},
): string {
  const named = metrics.map(({ name, unit }) => ({ Name: name, Unit: unit }));
  const dimensionSets = [Object.keys(of.dimensions)];
  const directive = { Namespace: of.namespace, Dimensions: dimensionSets, Metrics: named };
  return JSON.stringify({
    _aws: { Timestamp: of.nowMs, CloudWatchMetrics: [directive] },
    ...properties,
    ...of.dimensions,
    ...Object.fromEntries(metrics.map(({ name, value }) => [name, value])),
  });
}
