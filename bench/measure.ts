/**
 * What benchmarks share: seeded numbers, and figures printed as median, spread and ratio to a
 * target.
 */

/** Unsigned 32-bit words, the same for the same seed (xorshift128). */
export function seededWords(seed: number): () => number {
  let x = seed ^ 0x9e3779b9;
  let y = 0x243f6a88;
  let z = 0xb7e15162;
  let w = 0xdeadbeef;
  return () => {
    const t = x ^ (x << 11);
    x = y;
    y = z;
    z = w;
    w = w ^ (w >>> 19) ^ t ^ (t >>> 8);
    return w >>> 0;
  };
}

/**
 * Time spent, on the wall and on the processor. On a machine that is shared the two differ, and
 * the processor's is the one that says what the code costs.
 */
export class Stopwatch {
  wallMs = 0;
  cpuMs = 0;
  #wallStart = 0;
  #cpuStart = process.cpuUsage();

  start(): void {
    this.#wallStart = performance.now();
    this.#cpuStart = process.cpuUsage();
  }

  stop(): void {
    const { user, system } = process.cpuUsage(this.#cpuStart);
    this.wallMs += performance.now() - this.#wallStart;
    this.cpuMs += (user + system) / 1000;
  }
}

export type Figure = {
  readonly name: string;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly target:
    | { readonly value: number; readonly ratio: number; readonly met: boolean }
    | undefined;
};

/** One figure from repeated measurements. `ratio` is median over target. */
export function figure(
  name: string,
  values: readonly number[],
  goal?: { readonly target: number; readonly lowerIsBetter?: boolean },
): Figure {
  const sorted = values.toSorted((left, right) => left - right);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const bounds = { low: sorted[0] ?? Number.NaN, high: sorted.at(-1) ?? Number.NaN };
  if (goal === undefined) return { name, median, ...bounds, target: undefined };
  const ratio = median / goal.target;
  const met = goal.lowerIsBetter === true ? ratio <= 1 : ratio >= 1;
  return { name, median, ...bounds, target: { value: goal.target, ratio, met } };
}

export function printFigures(title: string, figures: readonly Figure[]): void {
  console.log(title);
  for (const { name, median, low, high, target } of figures) {
    const spread = `${text(median)}  [${text(low)} … ${text(high)}]`;
    const verdict =
      target === undefined
        ? ""
        : `  ${target.ratio.toFixed(2)} × target ${text(target.value)}: ` +
          (target.met ? "met" : "MISSED");
    console.log(`  ${name.padEnd(34)} ${spread}${verdict}`);
  }
}

function text(value: number): string {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return value.toPrecision(4);
}
