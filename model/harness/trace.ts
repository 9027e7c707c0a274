/**
 * A behaviour of the model as a file: one JSON line for the workload, then one per step with its
 * name and what of the state it changed. Made from what TLC's simulation writes, and replayed on
 * the code.
 */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { parseTlaValue, type TlaValue } from "./tla-value.ts";

const transaction = z.object({
  iso: z.enum(["serializable", "snapshot"]),
  reads: z.array(z.string()),
  writes: z.array(z.string()),
  deletes: z.array(z.string()),
});
const request = z.object({
  t: z.string(),
  kind: z.enum(["commit", "abort"]),
  checked: z.number(),
});
const block = z.object({
  cursor: z.number(),
  through: z.number(),
  verdicts: z.array(
    z.object({
      t: z.string(),
      kind: z.enum(["commit", "conflict", "probed", "ahead", "stale"]),
      ts: z.number(),
    }),
  ),
});
/** TLC prints an empty function as an empty sequence. */
const versions = z.preprocess(
  (value) => (Array.isArray(value) && value.length === 0 ? {} : value),
  z.record(z.string(), z.number()),
);
const state = z.object({
  client: z.record(
    z.string(),
    z.object({ pc: z.string(), r: z.number(), read: versions, todo: z.array(z.string()) }),
  ),
  stream: z.array(request),
  oracle: z.record(z.string(), z.object({ pos: z.number(), block: z.array(block) })),
  log: z.array(block),
  store: z.record(z.string(), z.number()),
  replay: z.record(z.string(), z.object({ to: z.number(), todo: versions })),
  mark: z.number(),
});
const action = z.discriminatedUnion("name", [
  z.object({ name: z.enum(["ClientRead", "ClientInstall"]), who: z.string(), what: z.string() }),
  z.object({
    name: z.literal("ClientSend"),
    who: z.string(),
    what: z.object({ fresh: z.boolean(), late: z.boolean() }),
  }),
  z.object({
    name: z.enum(["ClientResend", "ClientCrash", "Probe"]),
    who: z.string(),
    what: z.string(),
  }),
  z.object({
    name: z.enum(["OracleCertify", "OraclePut", "OracleCrash"]),
    who: z.string(),
    what: z.string(),
  }),
  z.object({ name: z.enum(["ReplayStart", "ReplayCrash"]), who: z.string(), what: z.string() }),
  z.object({ name: z.literal("ReplayInstall"), who: z.string(), what: z.string() }),
  z.object({ name: z.enum(["Arrive", "Copy"]), who: z.string(), what: request }),
  z.object({ name: z.literal("Reap"), who: z.string(), what: z.string() }),
]);
const workload = z.record(z.string(), transaction);
const header = z.object({ window: z.number(), work: workload, initial: state });
const line = z.object({ step: action, then: state.partial() });

export type ModelTransaction = z.infer<typeof transaction>;
export type ModelRequest = z.infer<typeof request>;
export type ModelBlock = z.infer<typeof block>;
export type ModelState = z.infer<typeof state>;
export type ModelAction = z.infer<typeof action>;
export type Trace = {
  /** Decisions that an oracle remembers. */
  readonly window: number;
  readonly work: Readonly<Record<string, ModelTransaction>>;
  readonly initial: ModelState;
  readonly steps: readonly { readonly action: ModelAction; readonly after: ModelState }[];
};

/** @throws z.ZodError, SyntaxError when the text is no trace. */
export function parseTrace(text: string): Trace {
  const lines = text.split("\n").filter((part) => part !== "");
  const head = header.parse(JSON.parse(lines[0] ?? ""));
  let before = head.initial;
  const steps = lines.slice(1).map((part) => {
    const { step, then } = line.parse(JSON.parse(part));
    before = {
      client: { ...before.client, ...then.client },
      stream: then.stream ?? before.stream,
      oracle: { ...before.oracle, ...then.oracle },
      log: then.log ?? before.log,
      store: { ...before.store, ...then.store },
      replay: { ...before.replay, ...then.replay },
      mark: then.mark ?? before.mark,
    };
    return { action: step, after: before };
  });
  return { ...head, steps };
}

/** Of each state only what its step has changed. */
export function formatTrace({ window, work, initial, steps }: Trace): string {
  const lines: unknown[] = [{ window, work, initial }];
  let before: ModelState = initial;
  for (const { action: step, after } of steps) {
    const then: Record<string, unknown> = { ...changed(before, after) };
    for (const name of ["client", "oracle", "store", "replay"] as const) {
      if (name in then) then[name] = changed(before[name], after[name]);
    }
    lines.push({ step, then });
    before = after;
  }
  return lines.map((part) => `${JSON.stringify(part)}\n`).join("");
}

/** The members of `after` that differ. */
function changed<Members extends object>(before: Members, after: Members): Partial<Members> {
  const members = Object.entries(after).filter(
    ([name, value]) => !isDeepStrictEqual(value, before[name as keyof Members]),
  );
  return Object.fromEntries(members) as Partial<Members>;
}

/** A behaviour as TLC's simulation writes it: a module with one definition per state. */
export function traceOfSimulation(module: string, window: number): Trace {
  const states = module.split(/^STATE_\d+ ==/m).slice(1);
  const values = states.map((text) => variablesOf(text.replace(/^=+$/m, "")));
  const first = values[0];
  if (first === undefined) throw new SyntaxError("a simulation without states");
  return {
    window,
    work: workload.parse(first["work"]),
    initial: state.parse(first),
    steps: values.slice(1).map((after) => ({
      action: action.parse(after["step"]),
      after: state.parse(after),
    })),
  };
}

function variablesOf(text: string): Readonly<Record<string, TlaValue>> {
  const variables: Record<string, TlaValue> = {};
  for (const part of text.split(/^\/\\ /m).slice(1)) {
    const equals = part.indexOf("=");
    variables[part.slice(0, equals).trim()] = parseTlaValue(part.slice(equals + 1));
  }
  return variables;
}
