/**
 * A process of the demo's BASE transactions: a teller makes payments, in steps and at once; a
 * runner goes on with those that tellers have left. It may be killed at any moment, and kills
 * itself between two steps of a payment where it is told to.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type BaseTrouble, type Client, TransactionError } from "../sdk/index.ts";
import { BaseJournal } from "./base/base-journal.ts";
import type { KillPoint } from "./base/kill-points.ts";
import { paymentInSteps } from "./base/payments.ts";
import { baseOrderSchema, type BaseSettings, baseSettingsSchema } from "./base/settings.ts";
import { Teller } from "./base/teller.ts";
import { openClient } from "./history.ts";

/** A payment that rests for longer is gone on with by two at once, which is to do no harm. */
const takeOverMs = 400;
const pollMs = 100;
const pauseAfterFailureMs = 100;

const settings = baseSettingsSchema.parse(JSON.parse(process.argv[2] ?? ""));
const journal = new BaseJournal(settings.folder, settings);
let condemnedAt: readonly KillPoint[] = [];

const inSteps = paymentInSteps((point, id) => {
  // All that a runner runs it has taken over; this is the first that is heard of it.
  const isTakenOver = settings.role === "runner" && point === "taken";
  if (isTakenOver) journal.append({ kind: "taken-over", id });
  if (!condemnedAt.includes(point)) return;
  journal.append({ kind: "killed", id, point });
  process.kill(process.pid, "SIGKILL");
});

/** Until it is told to stop. */
async function runRunner(db: Client, signal: AbortSignal): Promise<void> {
  const onTrouble = ({ kind, id, cause }: BaseTrouble): void => {
    // Of a payment nothing fails but its steps, within it. Others may be at the stack as well.
    if (id?.startsWith(settings.runId) !== true) return;
    journal.append({ kind: "fault", text: `runner: ${kind}, payment ${id}: ${String(cause)}` });
  };
  while (!signal.aborted) {
    try {
      await db.baseRunner({ handlers: [inSteps], takeOverMs, pollMs, signal, onTrouble });
    } catch (error) {
      if (!(error instanceof TransactionError) || !error.retryable) throw error;
      await sleep(pauseAfterFailureMs);
    }
  }
}

async function run({ role, program, life, ...rest }: BaseSettings): Promise<void> {
  const { endpoint, commit, history } = rest;
  const name = `base-${role}-${program}-${life}`;
  const { db, finish } = openClient({ endpoint, commit, name, history });
  const teller = new Teller(settings, { db, journal, inSteps });
  const stopped = new AbortController();
  process.on("message", (raw) => {
    const order = baseOrderSchema.parse(raw);
    if (order.kind === "die") {
      condemnedAt = order.points;
      return;
    }
    teller.stop();
    stopped.abort();
  });
  await (role === "teller" ? teller.run() : runRunner(db, stopped.signal));
  await db.close();
  finish();
  journal.close();
}

// Whatever ended the demo, its processes do not outlive it. Ctrl-C reaches the whole group.
process.on("disconnect", () => process.exit(1));
process.on("SIGINT", () => undefined);
await run(settings);
process.exit(0);
