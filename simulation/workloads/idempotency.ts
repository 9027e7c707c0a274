/**
 * Jobs that must be done exactly once: whoever has one repeats it, under the job's idempotency key,
 * after errors and unknown outcomes; others repeat it after crashes, long afterwards, or at the
 * same time. Every try that gets through leaves a receipt of its own, so a job done twice shows;
 * and whoever asks gets the first result, with the commit that it belongs to. Another request under
 * the key of a job that is done is refused, and runs nothing.
 */
import { TransactionError } from "../../core/errors.ts";
import {
  defineTable,
  IdempotencyKeyReusedError,
  type Receipt as CommitReceipt,
} from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { KeyOfTable } from "../../testing/history/recording-options.ts";
import { numbered, upTo } from "./key-spaces.ts";
import {
  WorkloadFinding,
  type Client,
  type StepContext,
  type WorkloadFactory,
} from "./workload.ts";

type ReceiptKey = { readonly job: string; readonly attempt: number };
type Receipt = { readonly value: number };
type Result = ReceiptKey & Receipt;
type Total = { readonly jobs: number };
const receipts = defineTable<Receipt, ReceiptKey, "job">("receipts", { key: ["job", "attempt"] });
const totals = defineTable<Total, { readonly id: string }>("totals", { key: "id" });

/** Tries of one job that may leave a receipt; the history's universe of its keys is finite. */
const attemptsMax = 12;
const triesOfStep = 4;

type Job = {
  readonly name: string;
  /** What the job counts up; undefined: it writes blindly, and nothing but its key guards it. */
  readonly total: string | undefined;
  attempts: number;
  result: Result | undefined;
  /** What the first receipt names. */
  commit: Commit | undefined;
};

type Commit = Pick<CommitReceipt, "transactionId" | "commitTimestamp" | "place">;

export const idempotency: WorkloadFactory = ({ keys, history }) => {
  const ids = numbered("total", keys);
  const jobs = new Jobs(ids);

  return {
    tables: [
      testTable("receipts", {
        partitionKey: "job",
        sortKey: { name: "attempt", type: "N" },
        history,
      }),
      testTable("totals", { partitionKey: "id", history }),
    ],
    universe: { [Symbol.iterator]: () => keysOf(jobs.begun) },
    setUp: () => Promise.resolve(),
    async step(context) {
      const job = jobs.draw(context.random);
      for (let tries = 1; ; tries += 1) {
        try {
          await attempt(job, context);
          return;
        } catch (error) {
          const again = tries < triesOfStep && job.attempts < attemptsMax;
          if (!again || !(error instanceof TransactionError)) throw error;
          await context.pause(context.random.between(1, 500));
        }
      }
    },
    judge: (client) => complaintsOf(client, jobs.begun, ids),
  };
};

/** Of the jobs that have begun as it is asked: nobody looks for another one's receipts. */
function* keysOf(jobs: readonly Job[]): Generator<KeyOfTable> {
  for (const { name } of jobs) {
    for (const attempt of upTo(attemptsMax)) {
      yield { table: "receipts", key: { job: { S: name }, attempt: { N: attempt.toString() } } };
    }
  }
}

/**
 * They never run out: a run that has seen too few conflicts goes on, and who repeats what is done
 * meets nobody.
 */
class Jobs {
  readonly begun: Job[] = [];
  readonly #totals: readonly string[];

  constructor(totalIds: readonly string[]) {
    this.#totals = totalIds;
  }

  /** A new job, or an earlier one: done, under way elsewhere, or left by a process that died. */
  draw(random: SeededRandom): Job {
    const repeats = this.begun.filter(({ attempts }) => attempts < attemptsMax);
    if (repeats.length > 0 && random.chance(0.6)) {
      return random.pick(repeats.slice(random.chance(0.7) ? -3 : 0));
    }
    const name = `job-${this.begun.length.toString()}`;
    const total = random.chance(0.6) ? random.pick(this.#totals) : undefined;
    const job = { name, total, attempts: 0, result: undefined, commit: undefined };
    this.begun.push(job);
    return job;
  }
}

async function attempt(job: Job, context: StepContext): Promise<void> {
  const { client, isolation, pause, random } = context;
  const key = { job: job.name, attempt: job.attempts };
  job.attempts += 1;
  const lingersMs = random.chance(0.2) ? random.between(1, 200) : 0;
  const { result, receipt } = await client.transact(
    { isolation, ...onceOf(job, "do"), attemptsMax: 5, deadlineMs: 8_000 },
    async (tx): Promise<Result> => {
      const { total } = job;
      const add = (row: Total | undefined): Total => ({ jobs: (row?.jobs ?? 0) + 1 });
      const value = total === undefined ? 0 : ((await tx.update(totals, total, add))?.jobs ?? 0);
      if (lingersMs > 0) await pause(lingersMs);
      tx.put(receipts, { ...key, value });
      return { ...key, value };
    },
  );
  const { transactionId, commitTimestamp, place } = receipt;
  const commit = { transactionId, commitTimestamp, place };
  job.commit ??= commit;
  if (JSON.stringify(job.commit) !== JSON.stringify(commit)) {
    throw new WorkloadFinding(
      `${job.name} was committed as ${JSON.stringify(job.commit)}, its repeat says ` +
        JSON.stringify(commit),
    );
  }
  job.result ??= result;
  if (!isSame(job.result, result)) {
    throw new WorkloadFinding(
      `${job.name} gave ${JSON.stringify(job.result)} first, then ${JSON.stringify(result)}`,
    );
  }
  if (receipt.replayed) await askForAnother(job, context);
}

function onceOf({ name, total }: Job, verb: "do" | "undo") {
  return { idempotencyKey: name, idempotencyRequest: { verb, name, total } };
}

/** Whatever goes wrong on the way, there is no answer for a request that was never made. */
async function askForAnother(job: Job, { client, isolation }: StepContext): Promise<void> {
  try {
    await client.transact({ isolation, ...onceOf(job, "undo"), deadlineMs: 8_000 }, () => {
      throw new WorkloadFinding(`the key of ${job.name}, which is done, runs another request`);
    });
  } catch (error) {
    if (error instanceof IdempotencyKeyReusedError) return;
    throw error;
  }
  throw new WorkloadFinding(`another request got the result of ${job.name}`);
}

async function complaintsOf(
  client: Client,
  jobs: readonly Job[],
  ids: readonly string[],
): Promise<readonly string[]> {
  const { left, counted } = await client.snapshot(async (snapshot) => ({
    left: await Promise.all(
      jobs.map(({ name }) => snapshot.query(receipts, { where: { job: name } }).all()),
    ),
    counted: await snapshot.batchGet(totals, ids),
  }));
  const complaints = jobs.flatMap(({ name, result }, index) => {
    const [first, ...more] = left[index] ?? [];
    if (more.length > 0) return [`${name} was done ${(more.length + 1).toString()} times`];
    if (result === undefined) return [];
    if (first === undefined) return [`${name} was acknowledged, and is not done`];
    return isSame(first, result) ? [] : [`${name} is not what its result says`];
  });
  const done = jobs.filter((_job, index) => (left[index] ?? []).length > 0);
  ids.forEach((id, index) => {
    const expected = done.filter(({ total }) => total === id).length;
    const value = counted[index]?.jobs ?? 0;
    if (value === expected) return;
    complaints.push(`${id} counts ${value.toString()} jobs of ${expected.toString()}`);
  });
  return complaints;
}

function isSame(a: Result, b: Result): boolean {
  return a.job === b.job && a.attempt === b.attempt && a.value === b.value;
}
