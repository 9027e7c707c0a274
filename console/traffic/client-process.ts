/**
 * One client of the console's traffic, a process of its own: it moves money between accounts, by
 * the rules of examples/bank, and tells what happens to each transfer. It may be killed at any
 * moment.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { systemClock } from "../../aws/system.ts";
import { SeededRandom } from "../../demo/seeded-random.ts";
import { accounts, ledger } from "../../examples/bank/bank.ts";
import {
  CommitUnknownError,
  createClient,
  type EngineEvent,
  TransactionError,
} from "../../sdk/index.ts";
import * as limits from "../limits.ts";
import { Course } from "./course.ts";
import {
  noCounts,
  type FromTraffic,
  type ToTraffic,
  type TrafficCounts,
  type TrafficSettings,
} from "./messages.ts";

const concurrency = 2;
const pauseMs = 30;
const pauseAfterFailureMs = 150;
const tellEveryMs = 250;

type Told = Extract<FromTraffic, { kind: "told" }>;

class TrafficClient {
  readonly #settings: TrafficSettings;
  readonly #random: SeededRandom;
  readonly #current = new AsyncLocalStorage<Course>();
  readonly #db: ReturnType<typeof createClient>;
  #counts: TrafficCounts = noCounts;
  #acknowledged: Told["acknowledged"][number][] = [];
  #courses: Told["courses"][number][] = [];
  #conflicts: Told["conflicts"][number][] = [];
  #made = 0;
  #condemned = false;
  #stopping = false;

  constructor(settings: TrafficSettings) {
    this.#settings = settings;
    this.#random = new SeededRandom(settings.seed);
    this.#db = createClient({
      endpoint: settings.endpoint,
      commit: settings.commit,
      onEvent: (event) => {
        this.#observe(event);
      },
    });
  }

  obey(order: ToTraffic): void {
    if (order.kind === "stop") this.#stopping = true;
    else this.#condemned = true;
  }

  async run(): Promise<void> {
    const timer = setInterval(() => {
      this.#tell();
    }, tellEveryMs);
    tell({ kind: "ready" });
    const work = async (): Promise<void> => {
      while (!this.#stopping) await this.#transferOne();
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    await this.#db.close();
    clearInterval(timer);
    this.#tell();
  }

  async #transferOne(): Promise<void> {
    const { accountIds, name } = this.#settings;
    const source = this.#random.pick(accountIds);
    const target = this.#random.pick(accountIds.filter((each) => each !== source));
    this.#made += 1;
    const id = `${name}-${this.#made}`;
    const course = new Course(systemClock, `${source} to ${target}`);
    try {
      await this.#current.run(course, () => this.#transfer({ id, source, target }, course));
      this.#acknowledged.push({ id, source, target });
      this.#count({ committed: 1 });
      await systemClock.sleep(pauseMs);
    } catch (error) {
      if (!(error instanceof TransactionError)) throw error;
      course.failed(error);
      this.#count(error instanceof CommitUnknownError ? { unknown: 1 } : { failed: 1 });
      await systemClock.sleep(pauseAfterFailureMs);
    } finally {
      this.#keep(course);
    }
  }

  async #transfer(
    { id, source, target }: Told["acknowledged"][number],
    course: Course,
  ): Promise<void> {
    const amountCents = 1 + this.#random.below(limits.transferCentsMax);
    const { receipt } = await this.#db.transact(
      { attemptsMax: limits.transferAttemptsMax },
      async (tx) => {
        const from = await tx.get(accounts, source);
        course.read(accounts.name, source, from === undefined ? "absent" : `${from.balanceCents}`);
        const to = await tx.get(accounts, target);
        course.read(accounts.name, target, to === undefined ? "absent" : `${to.balanceCents}`);
        // Also where it moves nothing it leaves an entry: what was acknowledged can be found.
        const moved = from !== undefined && from.balanceCents >= amountCents ? amountCents : 0;
        if (from === undefined || to === undefined) throw new Error("an account has gone");
        tx.put(accounts, { ...from, balanceCents: from.balanceCents - moved });
        tx.put(accounts, { ...to, balanceCents: to.balanceCents + moved });
        const entry = { entryId: id, amountCents: moved };
        const out = { ...entry, amountCents: -moved, accountId: source, counterpart: target };
        tx.put(ledger, out);
        tx.put(ledger, { ...entry, accountId: target, counterpart: source });
      },
    );
    course.committed(receipt);
  }

  #observe(event: EngineEvent): void {
    const course = this.#current.getStore();
    course?.note(event);
    if (event.kind === "attempt-started") this.#count({ attempts: 1 });
    if (event.kind === "attempt-aborted" && event.reason === "conflict") {
      this.#count({ conflicts: 1 });
      const met = course?.conflictOf(event);
      if (met !== undefined && this.#conflicts.length < limits.trafficToldMax) {
        this.#conflicts.push(met);
      }
    }
    // The log has the commit, and no install has been sent: what is left others have to do.
    if (event.kind === "certified" && this.#condemned) {
      if (course !== undefined) this.#keep(course);
      this.#tell();
      process.kill(process.pid, "SIGKILL");
    }
  }

  #count(more: Partial<TrafficCounts>): void {
    const counts = this.#counts;
    this.#counts = {
      committed: counts.committed + (more.committed ?? 0),
      attempts: counts.attempts + (more.attempts ?? 0),
      conflicts: counts.conflicts + (more.conflicts ?? 0),
      failed: counts.failed + (more.failed ?? 0),
      unknown: counts.unknown + (more.unknown ?? 0),
    };
  }

  #keep(course: Course): void {
    if (this.#courses.length < limits.trafficToldMax) this.#courses.push(course.told());
  }

  #tell(): void {
    tell({
      kind: "told",
      counts: this.#counts,
      acknowledged: this.#acknowledged,
      courses: this.#courses,
      conflicts: this.#conflicts,
    });
    this.#counts = noCounts;
    this.#acknowledged = [];
    this.#courses = [];
    this.#conflicts = [];
  }
}

function tell(message: FromTraffic): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const client = new TrafficClient(JSON.parse(process.argv[2] ?? "") as TrafficSettings);
process.on("message", (message) => {
  client.obey(message as ToTraffic);
});
// Whatever ended the console, its clients do not outlive it. Ctrl-C reaches the terminal's group.
process.on("disconnect", () => process.exit(0));
process.on("SIGINT", () => undefined);
await client.run();
process.exit(0);
