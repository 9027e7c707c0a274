/**
 * One session of a Hermitage script: a transaction whose body does one step at a time, each when
 * the script says so. The script waits for a step's end before it begins the next, in whichever
 * session: so the interleaving is the script's order.
 */
import {
  type Client,
  ConflictError,
  defineTable,
  type Isolation,
  SnapshotTooOldError,
  type Transaction,
} from "../../../sdk/index.ts";

/**
 * All rows of a script lie in one partition, so that a query and a scan can stand in for SQL's
 * `select`.
 */
export const partition = "test";

export type TestTable = ReturnType<typeof testTable>;

// No written type: the definition's own is the one that callers need.
export function testTable(name: string) {
  return defineTable<
    { readonly value: number },
    { readonly suite: string; readonly id: number },
    "suite"
  >(name, { key: ["suite", "id"] });
}

type Turn = (transaction: Transaction) => Promise<"go-on" | "commit">;

class Rollback extends Error {}

export class Session {
  /** Who refused the commit, if that was the transaction's first conflict. */
  refusedBy: ConflictError["detail"]["foundBy"];
  #hadConflict = false;
  readonly #ended: Promise<string>;
  #handOver: (turn: Turn) => void = () => undefined;
  #next: Promise<Turn> = Promise.resolve(() => Promise.resolve("go-on"));

  private constructor(client: Client, isolation: Isolation, entered: () => void) {
    this.#await();
    this.#ended = this.#run(client, isolation, entered);
  }

  /** Resolves once the body runs. One attempt only: a conflict shows as the error that it is. */
  static async begin(client: Client, isolation: Isolation): Promise<Session> {
    let entered: () => void = () => undefined;
    const running = new Promise<void>((resolve) => (entered = resolve));
    const session = new Session(client, isolation, entered);
    await Promise.race([running, session.#ended]);
    return session;
  }

  async #run(client: Client, isolation: Isolation, entered: () => void): Promise<string> {
    try {
      await client.transact({ isolation, attemptsMax: 1 }, (transaction) => {
        entered();
        return this.#body(transaction);
      });
      return "committed";
    } catch (error) {
      if (error instanceof ConflictError && !this.#hadConflict) {
        this.refusedBy = error.detail.foundBy;
      }
      return describeEnd(error);
    }
  }

  /**
   * Does one step within the transaction. A conflict is the step's result, and the transaction
   * stays as it is.
   */
  do(step: (transaction: Transaction) => Promise<string>): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#handOver(async (transaction) => {
        this.#await();
        await step(transaction)
          .catch((error: unknown) => {
            this.#hadConflict = true;
            return describeEnd(error);
          })
          .then(resolve, reject);
        return "go-on";
      });
    });
  }

  /** Ends the body; what became of the transaction. */
  commit(): Promise<string> {
    this.#handOver(() => Promise.resolve("commit"));
    return this.#ended;
  }

  rollBack(): Promise<string> {
    this.#handOver(() => Promise.reject(new Rollback("asked for")));
    return this.#ended;
  }

  #await(): void {
    this.#next = new Promise((resolve) => (this.#handOver = resolve));
  }

  async #body(transaction: Transaction): Promise<void> {
    for (;;) {
      const turn = await this.#next;
      if ((await turn(transaction)) === "commit") return;
    }
  }
}

/** A conflict by the key or the predicate that it names. @throws whatever is none. */
function describeEnd(error: unknown): string {
  if (error instanceof Rollback) return "rolled back";
  if (error instanceof SnapshotTooOldError) return "snapshot too old";
  if (!(error instanceof ConflictError)) throw error;
  const { detail } = error;
  if (detail.table === undefined || !detail.table.startsWith("hermitage-")) throw error;
  if (detail.on === "table") return "conflict on the whole table";
  const suite = detail.key?.["suite"];
  if (suite === undefined || !("S" in suite) || suite.S !== partition) throw error;
  if (detail.on === "partition") return "conflict on the queried partition";
  const id = detail.key?.["id"];
  if (id === undefined || !("N" in id)) throw error;
  return `conflict on ${id.N}`;
}
