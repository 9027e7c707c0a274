/**
 * Parts that nobody settles: their client is gone, and nobody meets them. Replay asks for their
 * outcome as anybody may: that looks at all their logs, asks to abort where one was never seen, and
 * enters what became of them (engine/sharded/). So the watermark is not held up for long.
 */
import * as limits from "../../core/limits.ts";
import type { OpenTransaction } from "../../core/open-transactions.ts";
import type { Ports, CallOptions } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import { EngineCore } from "../../engine/engine-core.ts";
import { transactionEngineOf } from "../../engine/transaction-engine.ts";
import type { Observability } from "../shared/observability.ts";

export type SettlePartsWork = {
  readonly ports: Ports;
  readonly observability: Observability;
  readonly shard: ShardId;
  readonly call: CallOptions;
};

/** What fails fails no run: the next one asks again. */
export async function settleParts(
  { ports, observability, shard, call }: SettlePartsWork,
  open: readonly OpenTransaction[],
): Promise<void> {
  // By the stream where there is one: replay need not have the right to put blocks.
  const core = new EngineCore(ports, { commit: "stream", chaining: false });
  const engine = transactionEngineOf(core);
  const { signal } = call;
  const options = {
    deadlineMs: limits.partsSettledMsMax,
    ...(signal === undefined ? {} : { signal }),
  };
  const asked = open.slice(0, limits.partsSettledAtOnceMax);
  const results = await Promise.allSettled(
    asked.map(({ prepared: { id } }) => engine.outcome(id, options)),
  );
  await engine.close();
  const failed = results.filter((result) => result.status === "rejected");
  observability.metrics.count("PartsSettled", results.length - failed.length, shard);
  const [first] = failed;
  observability.log.warn("nobody settles parts of transactions over several shards: replay does", {
    ...{ shard, parts: open.length, failed: failed.length },
    reason: first === undefined ? undefined : String(first.reason),
  });
}
