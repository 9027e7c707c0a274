/**
 * What replay sets aside for an operator: a committed write that can never be installed, or a whole
 * commit whose payload is gone or damaged. It is stored, counted and logged, and the shard goes on.
 */
import type { CallOptions, DeadLetter, Ports } from "../../core/ports.ts";
import type { CommittedVerdict, ShardId } from "../../core/types.ts";
import { writeAt } from "../../engine/installing/payload-writes.ts";
import type { Observability } from "../shared/observability.ts";
import type { PlannedWrite } from "./chunk.ts";

export class DeadLetters {
  readonly #control: Pick<Ports["control"], "saveDeadLetter">;
  readonly #observability: Observability;
  readonly #shard: ShardId;
  readonly #call: CallOptions;

  constructor(
    { control }: { readonly control: Pick<Ports["control"], "saveDeadLetter"> },
    observability: Observability,
    work: { readonly shard: ShardId; readonly call: CallOptions },
  ) {
    this.#control = control;
    this.#observability = observability;
    this.#shard = work.shard;
    this.#call = work.call;
  }

  async ofWrite({ commit, index }: PlannedWrite, reason: string): Promise<void> {
    const { write, table } = writeAt(commit.payload, index);
    const { key, item } = write;
    await this.#save(commit.verdict, { table: table.name, key, item, reason });
    this.#tell(1, "a committed write can never be installed", {
      transactionId: commit.verdict.id,
      table: table.name,
      reason,
    });
  }

  /** Nobody can say any more what it writes. */
  async ofCommit(verdict: CommittedVerdict, reason: string): Promise<void> {
    await this.#save(verdict, { table: "", key: {}, item: undefined, reason });
    this.#tell(
      verdict.writes.length,
      "a commit's payload is gone or damaged; its writes may be missing from their tables",
      { transactionId: verdict.id, reason },
    );
  }

  #save(
    { id, timestamp }: CommittedVerdict,
    what: Pick<DeadLetter, "table" | "key" | "item" | "reason">,
  ): Promise<void> {
    const letter = { shard: this.#shard, timestamp, id, ...what };
    return this.#control.saveDeadLetter(letter, this.#call);
  }

  #tell(writes: number, message: string, fields: Readonly<Record<string, string>>): void {
    this.#observability.metrics.count("DeadLetters", writes);
    this.#observability.log.error(message, fields);
  }
}
