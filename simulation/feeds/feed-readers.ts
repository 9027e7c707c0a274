/**
 * Readers of the change feed, beside the clients and under their faults. One is at it at a time; it
 * dies at any call, and the next one goes on behind a position that it had given. When all is calm
 * two more read to the end: from there, and from the beginning. What each has given has to be what
 * the logs say, without a gap.
 */
import { StoreError, TransactionError } from "../../core/errors.ts";
import { parsePosition, positionText } from "../../engine/changes/position.ts";
import type { ChangePosition, CommittedChanges } from "../../engine/changes/types.ts";
import type { ClientEngine } from "../../engine/types.ts";
import type { Client } from "../../sdk/index.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { TestCloud } from "../../testing/test-cloud.ts";
import type { TestClientOptions } from "../../testing/test-cloud-options.ts";
import type { LoggedBases } from "../base/base-log.ts";
import type { LoggedWrite } from "../judges/logged-writes.ts";
import { expectedChanges, givenText, isBehind } from "./expected-changes.ts";

/** From a position until it dies, fails or is stopped. */
type Reading = {
  readonly name: string;
  readonly from: ChangePosition | "oldest";
  readonly given: CommittedChanges[];
  /** Whether it had the time to come to the end. */
  readonly isLast: boolean;
};

const pollMs = 400;
const keptShare = 0.2;
const replacedMs = { min: 50, max: 3_000 };
/** In which a quiet log is brought up, and all is read. */
const lastReadingMs = 30_000;

export class FeedReaders {
  readonly findings: string[] = [];
  readonly #cloud: TestCloud;
  readonly #random: SeededRandom;
  readonly #stop = new AbortController();
  readonly #readings: Reading[] = [];
  #kept: ChangePosition | "oldest" = "oldest";
  #started = 0;

  constructor(cloud: TestCloud) {
    this.#cloud = cloud;
    this.#random = cloud.world.random.fork("feed readers");
  }

  start(): void {
    const { time } = this.#cloud.world;
    this.#started += 1;
    const name = `feed-${this.#started.toString()}`;
    const { options, engineOf } = caught();
    const process = this.#cloud.startProcess(name, options);
    process.onCrash(() => {
      const { min, max } = replacedMs;
      time.after(this.#random.between(min, max), () => {
        if (!this.#stop.signal.aborted) this.start();
      });
    });
    void (async () => {
      while (!this.#stop.signal.aborted) {
        await this.#read(() => engineOf(process.client), { name, isLast: false });
        await process.clock.sleep(pollMs);
      }
      await process.client.close();
    })();
  }

  /** Once all is calm, and nothing is committed any more. */
  async end(): Promise<void> {
    this.#stop.abort(new Error("the run is over"));
    for (const from of [this.#kept, "oldest"] as const) {
      this.#kept = from;
      const { options, engineOf } = caught();
      const client = this.#cloud.createClient(
        `last feed from ${from === "oldest" ? from : positionText(from)}`,
        options,
      );
      const stop = new AbortController();
      const reading = this.#read(() => engineOf(client), {
        ...{ name: "last feed", isLast: true, signal: stop.signal },
      });
      await this.#cloud.clock.sleep(lastReadingMs);
      stop.abort(new Error("the time is up"));
      await reading;
      await client.close();
    }
  }

  async #read(
    connect: () => Promise<ClientEngine>,
    {
      name,
      isLast,
      signal = this.#stop.signal,
    }: { readonly name: string; readonly isLast: boolean; readonly signal?: AbortSignal },
  ): Promise<void> {
    const reading: Reading = { name, from: this.#kept, given: [], isLast };
    this.#readings.push(reading);
    const options = { tables: undefined, mixed: "refuse", before: false, pollMs, signal } as const;
    try {
      const engine = await connect();
      const feed = await engine.changes({ ...options, from: reading.from });
      for await (const change of feed) {
        reading.given.push(change);
        if (!isLast && this.#random.chance(keptShare)) this.#keep(change.position);
      }
    } catch (error) {
      if (error === signal.reason) return;
      if (error instanceof StoreError) return;
      if (error instanceof TransactionError && error.retryable) return;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.findings.push(`feeds: ${name} has ended with: ${text}`);
    }
  }

  /** As who keeps it elsewhere does. */
  #keep(position: ChangePosition): void {
    const kept = parsePosition(positionText(position));
    if (kept === undefined) this.findings.push("feeds: a position that cannot be read again");
    else this.#kept = kept;
  }

  /** @param writes all that the logs have committed. */
  judge(writes: readonly LoggedWrite[], bases: LoggedBases | undefined): void {
    const expected = expectedChanges(writes, bases);
    for (const { name, from, given, isLast } of this.#readings) {
      const first = from === "oldest" ? 0 : expected.findIndex((each) => isBehind(each, from));
      const due = first < 0 ? [] : expected.slice(first);
      const wrong = given.findIndex((change, at) => !isSame(change, due[at]));
      if (wrong >= 0) {
        const [got, wanted] = [given[wrong], due[wrong]];
        const gotText = got === undefined ? "nothing" : `${got.id} (${givenText(got)})`;
        const dueText = wanted === undefined ? "nothing" : `${wanted.id} (${wanted.text})`;
        this.findings.push(`feeds: ${name} was given ${gotText} where ${dueText} is due`);
      } else if (isLast && given.length < due.length) {
        this.findings.push(
          `feeds: ${name} was given ${given.length.toString()} of ${due.length.toString()} changes`,
        );
      }
    }
  }
}

function isSame(
  change: CommittedChanges,
  due: ReturnType<typeof expectedChanges>[number] | undefined,
): boolean {
  if (due === undefined) return false;
  return (
    change.id === due.id && change.timestamp === due.timestamp && givenText(change) === due.text
  );
}

/** The engine of a client, below what the SDK makes of it. */
function caught(): {
  readonly options: TestClientOptions;
  readonly engineOf: (client: Client) => Promise<ClientEngine>;
} {
  let found: ClientEngine | undefined;
  const wrapEngine = (engine: ClientEngine): ClientEngine => (found = engine);
  const engineOf = async (client: Client): Promise<ClientEngine> => {
    // It connects with its first use.
    await client.snapshot(() => Promise.resolve());
    if (found === undefined) throw new Error("a client in use is connected");
    return found;
  };
  return { options: { wrapEngine }, engineOf };
}
