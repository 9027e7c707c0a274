/** `tidemark base` as text and as JSON. Pure. */
import type { StepRecord } from "../../engine/base/record.ts";
import { isLeft, type OneBase, type SeenBase, type SeenBases } from "../../inspection/bases.ts";
import { failureCell, inColumns } from "../shell/columns.ts";
import { counted, spanText } from "../../inspection/words/moments.ts";
import { plainText, shellWord } from "../../inspection/words/plain-text.ts";
import type { Styles } from "../shell/styles.ts";

export type BaseList = SeenBases & {
  readonly nowMs: number;
  /** Of the handler whose BASE transactions alone were asked for. */
  readonly name?: string | undefined;
  /** Whether a table takes them at all. */
  readonly isTaken: boolean;
};

export function baseListLines(list: BaseList, styles: Styles): readonly string[] {
  const { bases, all, nowMs } = list;
  if (!list.isTaken) {
    return ["no table takes BASE transactions; `tidemark register <table> --base` does it"];
  }
  if (all === 0) {
    const { name } = list;
    return [`no BASE transaction ${name === undefined ? "" : `of "${plainText(name)}" `}is open`];
  }
  const columns = [
    { title: "name" },
    { title: "id" },
    { title: "version", align: "right" },
    { title: "since" },
    { title: "steps", align: "right" },
    { title: "heard of", align: "right" },
    { title: "phase" },
    { title: "failures", align: "right" },
    { title: "last failure" },
  ] as const;
  const rows = bases.map((base) => [
    base.name,
    plainText(base.id),
    base.version.toString(),
    base.startedMs === 0 ? "–" : dateText(base.startedMs),
    base.steps.toString(),
    agoText(base.lastMs, nowMs),
    phaseText(base, nowMs, styles),
    base.failures.toString(),
    failureCell(base.failure ?? ""),
  ]);
  const [parked, ...alsoParked] = bases.filter(({ phase }) => phase === "parked");
  const damaged = bases.find(({ phase }) => phase === "damaged");
  const left = bases.find((base) => isLeft(base, nowMs));
  const advice = [
    ...(damaged === undefined ? [] : [mendAdvice(damaged, styles)]),
    ...(parked === undefined ? [] : [resumeAdvice(parked, styles)]),
    ...(alsoParked.length === 0 ? [] : [resumeAllAdvice(styles)]),
    ...(left === undefined ? [] : [runnerAdvice(left, nowMs, styles)]),
  ];
  return [
    ...inColumns(columns, rows, styles),
    ...(all > bases.length ? [`and ${all - bases.length} more`] : []),
    ...(advice.length === 0 ? [] : ["", ...advice]),
  ];
}

export function oneBaseLines(base: OneBase, nowMs: number, styles: Styles): readonly string[] {
  const { name, id, version, startedMs, lastMs, steps, failure, dependsOn } = base;
  const { refusal } = base;
  const isOver = base.phase === "released";
  if (base.phase === "damaged") {
    return [
      `${styles.strong(`${name} ${plainText(id)}`)}: ${phaseText(base, nowMs, styles)}`,
      mendAdvice(base, styles),
    ];
  }
  return [
    `${styles.strong(`${name} ${plainText(id)}`)}: ${phaseText(base, nowMs, styles)}`,
    `version ${version}, since ${dateText(startedMs)} (${agoText(startedMs, nowMs)} ago), ` +
      `${counted(steps, "step")}, last heard of ${agoText(lastMs, nowMs)} ago`,
    ...(dependsOn.length === 0 || isOver
      ? []
      : [`has read from ${plainText(dependsOn.join(", "))}`]),
    ...(failure === undefined || base.phase === "refused"
      ? []
      : [`${failuresText(base)}, last: ${plainText(failure)}`]),
    ...(refusal === undefined ? [] : [refusalText(refusal)]),
    ...base.done.map((step) => `  ${stepText(step, styles)}`),
    ...(base.phase === "parked" ? [resumeAdvice(base, styles)] : []),
    ...(isLeft(base, nowMs) ? [runnerAdvice(base, nowMs, styles)] : []),
  ];
}

function failuresText({ failures, failingSinceMs }: SeenBase): string {
  const since = failingSinceMs === undefined ? "" : ` since ${dateText(failingSinceMs)}`;
  return `failed ${counted(failures, "time")}${since}`;
}

function refusalText({ step, name, message }: NonNullable<SeenBase["refusal"]>): string {
  return plainText(`refused${step === undefined ? "" : ` by step "${step}"`}: ${name}: ${message}`);
}

function stepText({ number, name, atMs, end }: StepRecord, styles: Styles): string {
  const how =
    end.kind === "returned"
      ? ""
      : styles.bad(plainText(` failed: ${end.failure.name}: ${end.failure.message}`));
  return `${number} ${plainText(name)}, ${dateText(atMs)}${how}`;
}

function runnerAdvice(base: SeenBase, nowMs: number, styles: Styles): string {
  const { name, id, phase, startedMs, lastMs } = base;
  const fromMs = lastMs === 0 && phase === "requested" ? startedMs : lastMs;
  const since = fromMs === 0 ? "since it was let go on" : `for ${spanText(nowMs - fromMs)}`;
  const does = phase === "requested" ? "begins it" : "takes it over";
  return styles.faint(
    `→ nobody is at ${name} ${plainText(id)} ${since}: a runner with its handler, in version ` +
      `${base.version}, ${does} (docs/operations.md, Runners of BASE transactions)`,
  );
}

function mendAdvice({ name, id, failure = "" }: SeenBase, styles: Styles): string {
  return styles.faint(plainText(`→ ${name} ${id}: ${failure}`));
}

function resumeAdvice({ name, id, steps }: SeenBase, styles: Styles): string {
  const one = `${name} ${shellWord(id)}`;
  const advice =
    `→ put its handler right where it runs, then \`tidemark base resume ${one}\` lets it go on` +
    (steps > 0 ? "" : `; nothing of it has happened: \`tidemark base cancel ${one}\` ends it`);
  return styles.faint(advice);
}

function resumeAllAdvice(styles: Styles): string {
  return styles.faint("→ `tidemark base resume --all` lets all go on that are parked");
}

function phaseText(base: SeenBase, nowMs: number, styles: Styles): string {
  const { phase, retryAtMs = 0 } = base;
  const leftMs = retryAtMs - nowMs;
  const rests = leftMs > 0 ? `is tried again in ${spanText(leftMs)}` : undefined;
  switch (phase) {
    case "requested":
      return rests ?? "waits for a runner to begin it";
    case "refused":
      return "refused: nothing of it has happened";
    case "cancelled":
      return "cancelled: nothing of it has happened";
    case "running":
      return isLeft(base, nowMs) ? styles.warning("nobody is at it") : (rests ?? "goes on");
    case "parked":
      return styles.bad("parked");
    case "damaged":
      return styles.bad("damaged: nobody can go on with it");
    case "ended":
      return "has ended, waits for others";
    case "released":
      return styles.good("over: all see what it has written");
  }
}

/** One that was let go on has not been heard of since. */
function agoText(ms: number, nowMs: number): string {
  return ms === 0 ? "–" : spanText(nowMs - ms);
}

function dateText(ms: number): string {
  return new Date(ms).toISOString();
}

function optionalDate(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : dateText(ms);
}

export function baseListJson({ bases, all }: BaseList): object {
  const parked = bases.filter(({ phase }) => phase === "parked").length;
  const damaged = bases.filter(({ phase }) => phase === "damaged").length;
  return { open: all, parked, damaged, bases: bases.map(baseJson) };
}

export function oneBaseJson({ done, ...base }: OneBase): object {
  const steps = done.map(({ number, name, atMs, end }) => ({
    ...{ number, name, at: dateText(atMs) },
    ...(end.kind === "failed" ? { error: end.failure } : {}),
  }));
  return { ...baseJson(base), done: steps };
}

function baseJson(base: SeenBase): object {
  const { startedMs, lastMs, name, id, version, phase, steps, ...others } = base;
  const { failingSinceMs, retryAtMs, ...rest } = others;
  const lastHeardOf = lastMs === 0 ? undefined : dateText(lastMs);
  const since = phase === "damaged" ? undefined : dateText(startedMs);
  const failing = {
    failingSince: optionalDate(failingSinceMs),
    retriesAt: optionalDate(retryAtMs),
  };
  return { name, id, version, phase, since, steps, lastHeardOf, ...failing, ...rest };
}
