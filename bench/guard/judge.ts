/** Counts against budgets, as a table and a verdict. */
import { budgetFor, type BudgetGroup, type Budgets, type Count } from "./budgets.ts";

/** All that a run has to say. */
export type Verdict = {
  readonly lines: readonly string[];
  /** What fails, one line each, with the figure. */
  readonly failures: readonly string[];
  readonly exitCode: 0 | 1;
};

export type Finding =
  | { readonly kind: "within"; readonly count: Count; readonly budget: number }
  /** A regression. */
  | { readonly kind: "over"; readonly count: Count; readonly budget: number }
  /** So much better that the budget no longer guards it. */
  | { readonly kind: "better"; readonly count: Count; readonly budget: number; readonly to: number }
  /** Counted, and no budget for it. */
  | { readonly kind: "unbudgeted"; readonly count: Count }
  /** A budget, and nothing that is counted under its name. */
  | { readonly kind: "uncounted"; readonly group: string; readonly name: string };

/** A budget that could be lower by more than this share is reported. */
const betterShare = 0.1;

export function verdictOf(counts: readonly Count[], budgets: Budgets): Verdict {
  const findings = judge(counts, budgets);
  const failures = failuresOf(findings, budgets);
  const lines = [...tableOf(findings, budgets), ""];
  const better = findings.filter(({ kind }) => kind === "better").length;
  if (better > 0) {
    lines.push(
      `Clearly better than their budgets: ${better.toString()}; ` +
        "`npm run bench:guard -- --tighten` lowers these.",
    );
  }
  const aimed = counts.filter(({ targetMax }) => targetMax !== undefined);
  const missed = aimed.filter(({ figure, targetMax = 0 }) => figure > targetMax);
  lines.push(
    `Targets: ${aimed.length.toString()}, of which ${missed.length.toString()} are missed.`,
  );
  const exceeded = failures.length === 0 ? "all within their budgets" : "FAILED";
  lines.push(`Counts: ${counts.length.toString()}, ${exceeded}.`);
  return { lines, failures, exitCode: failures.length === 0 ? 0 : 1 };
}

export function judge(counts: readonly Count[], budgets: Budgets): readonly Finding[] {
  const findings = counts.map((count): Finding => {
    const group = budgets[count.group];
    const budget = group?.budgets[count.name];
    if (group === undefined || budget === undefined) return { kind: "unbudgeted", count };
    if (!(count.figure <= budget)) return { kind: "over", count, budget };
    const to = budgetFor(count.figure, group);
    const isBetter = to < budget * (1 - betterShare);
    return isBetter ? { kind: "better", count, budget, to } : { kind: "within", count, budget };
  });
  const counted = new Set(counts.map(({ group, name }) => `${group}: ${name}`));
  for (const [group, { budgets: named }] of Object.entries(budgets)) {
    for (const name of Object.keys(named)) {
      if (!counted.has(`${group}: ${name}`)) findings.push({ kind: "uncounted", group, name });
    }
  }
  return findings;
}

function failuresOf(findings: readonly Finding[], budgets: Budgets): readonly string[] {
  return findings.flatMap((finding) => {
    switch (finding.kind) {
      case "over": {
        const { count, budget } = finding;
        const { unit = "", why = "" } = budgets[count.group] ?? {};
        const excess = budget === 0 ? "" : `, ${percent(count.figure / budget - 1)} more`;
        return [
          `${title(count)}: ${figureText(count.figure)} ${unit}, over the budget of ` +
            `${figureText(budget)}${excess} (${why})`,
        ];
      }
      case "unbudgeted":
        return [
          `${title(finding.count)}: ${figureText(finding.count.figure)}, and no budget in ` +
            "budgets.json",
        ];
      case "uncounted":
        return [
          `${title(finding)}: a budget in budgets.json, and nothing is counted under this name`,
        ];
      case "within":
      case "better":
        return [];
    }
  });
}

/**
 * Lower budgets where figures have become better, and budgets for what is counted anew in a known
 * group. A budget that is exceeded stays: raising one is an edit that somebody answers for.
 */
export function tightened(findings: readonly Finding[], budgets: Budgets): Budgets {
  const result = structuredClone(budgets);
  for (const finding of findings) {
    if (finding.kind === "uncounted" || finding.kind === "over") continue;
    const { count } = finding;
    const group = result[count.group];
    if (group === undefined) continue;
    const before = group.budgets[count.name] ?? Number.POSITIVE_INFINITY;
    group.budgets[count.name] = Math.min(before, budgetFor(count.figure, group));
  }
  return result;
}

/** One block of lines per group. Counts that are zero, as their budget wants it, share a line. */
function tableOf(findings: readonly Finding[], budgets: Budgets): readonly string[] {
  return Object.entries(budgets).flatMap(([name, group]) => {
    const own = findings.filter((each) => each.kind !== "uncounted" && each.count.group === name);
    return own.length === 0 ? [] : groupLines(name, group, own);
  });
}

function groupLines(
  name: string,
  { unit, why }: BudgetGroup,
  findings: readonly Finding[],
): readonly string[] {
  const lines = ["", `${name} (${unit}): ${why}`];
  lines.push(row(["", "figure", "budget", "headroom", "target", ""]));
  let zeros = 0;
  for (const finding of findings) {
    if (finding.kind === "uncounted") continue;
    const { count } = finding;
    const budget = finding.kind === "unbudgeted" ? undefined : finding.budget;
    if (count.figure === 0 && budget === 0 && count.targetMax === undefined) {
      zeros += 1;
      continue;
    }
    lines.push(
      row([
        count.name,
        figureText(count.figure),
        budget === undefined ? "none" : figureText(budget),
        budget === undefined || budget === 0 ? "–" : percent(1 - count.figure / budget),
        targetText(count),
        noteOf(finding),
      ]),
    );
  }
  if (zeros > 0) lines.push(`  and ${zeros.toString()} that are and may be 0`);
  return lines;
}

function row([name = "", ...cells]: readonly string[]): string {
  const widths = [10, 10, 10, 16];
  const padded = cells.map((cell, n) => (n < 4 ? cell.padStart(widths[n] ?? 0) : `  ${cell}`));
  return `  ${name.padEnd(54)}${padded.join("")}`.trimEnd();
}

function noteOf(finding: Finding): string {
  if (finding.kind === "over") return "OVER";
  if (finding.kind === "unbudgeted") return "NO BUDGET";
  return finding.kind === "better" ? `better: ${figureText(finding.to)} would do` : "";
}

function targetText({ figure, targetMax }: Count): string {
  if (targetMax === undefined) return "";
  return `${figureText(targetMax)} ${figure <= targetMax ? "met" : "MISSED"}`;
}

function title({ group, name }: { readonly group: string; readonly name: string }): string {
  return `${group}, ${name}`;
}

function figureText(figure: number): string {
  if (Math.abs(figure) >= 10_000) return Math.round(figure).toLocaleString("en-US");
  return Number(figure.toFixed(3)).toString();
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
