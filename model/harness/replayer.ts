/**
 * Drives the real code through a trace of the model and compares, after every step, what both say:
 * stream, log with every verdict, blocks on their way, stored versions, reads and read timestamps,
 * installs on their way, watermark. The first difference is the answer.
 */
import { isDeepStrictEqual } from "node:util";
import type { CommitRequest, LogBlock, Timestamp, Verdict } from "../../core/types.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { decodeCommitRecord } from "../../schemas/commit-record-reading.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";
import { ClientActor, nameOf, OracleActor, type OraclePorts, ReplayActor } from "./actors.ts";
import { GatedShard, modelTable } from "./gated-shard.ts";
import type { ModelAction, ModelBlock, ModelRequest, ModelState, Trace } from "./trace.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

export type Difference = {
  /** Index of the step in the trace. */
  readonly step: number;
  readonly action: ModelAction;
  readonly what: string;
  readonly model: unknown;
  readonly code: unknown;
};

export type ReplayerOptions = {
  /** For negative tests: what lies around an oracle's log. */
  readonly around?: (ports: OraclePorts) => OraclePorts;
};

/** Undefined when the code did what the model says, to the last step. */
export async function replayTrace(
  trace: Trace,
  options: ReplayerOptions = {},
): Promise<Difference | undefined> {
  const run = new Run(trace, options);
  let before = trace.initial;
  for (const [step, { action, after }] of trace.steps.entries()) {
    try {
      await run.perform(action, { before, after });
    } catch (error) {
      return { step, action, what: "the code failed", model: "goes on", code: String(error) };
    }
    for (const { what, model, code } of run.compare(after)) {
      if (!isDeepStrictEqual(model, code)) return { step, action, what, model, code };
    }
    before = after;
  }
  return undefined;
}

type Compared = { readonly what: string; readonly model: unknown; readonly code: unknown };

class Run {
  readonly #trace: Trace;
  readonly #shard = new GatedShard();
  readonly #clients = new Map<string, ClientActor>();
  readonly #oracles = new Map<string, OracleActor>();
  readonly #replays = new Map<string, ReplayActor>();
  /** Every record that was ever sent, by what the model knows of it. */
  readonly #sent = new Map<string, Uint8Array>();
  /** What the steps that only the client notices came to. */
  readonly #aborted = new Set<string>();

  constructor(trace: Trace, { around = (ports) => ports }: ReplayerOptions) {
    this.#trace = trace;
    for (const [name, work] of Object.entries(trace.work)) {
      this.#clients.set(name, new ClientActor(this.#shard, name, work));
    }
    for (const name of Object.keys(trace.initial.oracle)) {
      this.#oracles.set(name, new OracleActor(this.#shard, { window: trace.window, around }));
    }
    for (const name of Object.keys(trace.initial.replay)) {
      this.#replays.set(name, new ReplayActor(this.#shard));
    }
  }

  async perform(
    action: ModelAction,
    { before, after }: { readonly before: ModelState; readonly after: ModelState },
  ): Promise<void> {
    switch (action.name) {
      case "ClientRead":
        if ((await actor(this.#clients, action.who).get(action.what)) === "conflict") {
          this.#aborted.add(action.who);
        }
        return;
      case "ClientSend":
        await this.#send(action.who, { fresh: action.what.fresh, arrives: !action.what.late });
        return;
      case "ClientResend":
        await this.#send(action.who, { fresh: true, arrives: false });
        return;
      case "Probe":
        this.#keep(await actor(this.#clients, action.who).probe());
        return;
      case "ClientInstall":
        await actor(this.#clients, action.who).install(action.what);
        return;
      case "ClientCrash":
        return;
      case "Arrive":
      case "Copy":
        this.#arrive(action.what);
        return;
      case "OracleCertify": {
        const block = after.oracle[action.who]?.block[0];
        await actor(this.#oracles, action.who).certify(block?.cursor ?? before.stream.length);
        return;
      }
      case "OraclePut":
        await actor(this.#oracles, action.who).put();
        return;
      case "OracleCrash":
        actor(this.#oracles, action.who).crash();
        return;
      case "ReplayStart":
        await actor(this.#replays, action.who).start();
        return;
      case "ReplayInstall":
        await actor(this.#replays, action.who).install(action.what);
        return;
      case "ReplayCrash":
        actor(this.#replays, action.who).crash();
        return;
      case "Reap": {
        const version = (before.store[action.who] ?? 0) as Timestamp;
        const key = { k: { S: action.who } };
        await this.#shard.ports().items.removeTombstone({ table: modelTable.name, key, version });
      }
    }
  }

  async #send(
    who: string,
    { fresh, arrives }: { readonly fresh: boolean; readonly arrives: boolean },
  ): Promise<void> {
    const request = await actor(this.#clients, who).request({ fresh });
    if (request === "conflict") {
      this.#aborted.add(who);
      return;
    }
    const sent = this.#keep(request);
    if (arrives) this.#arrive(sent);
  }

  #keep(request: CommitRequest): ModelRequest {
    const seen = modelRequest(request);
    this.#sent.set(
      requestKey(seen),
      encodeCommitRecord(sampleHashes.fingerprint, [encodeCommitRequest(request)]),
    );
    return seen;
  }

  #arrive(request: ModelRequest): void {
    const data = this.#sent.get(requestKey(request));
    if (data === undefined) throw new Error(`${requestKey(request)} was never sent`);
    this.#shard.arrive(data);
  }

  *compare(state: ModelState): Generator<Compared> {
    const records = this.#shard.records.map(({ data }) =>
      decodeCommitRecord(data).map(modelRequest),
    );
    yield { what: "stream", model: state.stream, code: records.flat() };
    const log = this.#shard.blocks.map(({ bytes, position }) =>
      modelBlock(decodeLogBlock(bytes, position, sampleHashes)),
    );
    yield { what: "log", model: state.log, code: log };
    for (const [name, { pos, block }] of Object.entries(state.oracle)) {
      const call = this.#oracles.get(name)?.held?.call;
      const code = call && [
        call.position,
        modelBlock(decodeLogBlock(call.bytes, call.position, sampleHashes)),
      ];
      yield { what: `draft of ${name}`, model: block[0] && [pos, block[0]], code };
    }
    for (const [key, version] of Object.entries(state.store)) {
      const stored = this.#shard.item(key);
      const by = this.#writer(state, version);
      const tombstone = by !== undefined && this.#trace.work[by]?.deletes.includes(key) === true;
      yield {
        what: `item ${key}`,
        model: { version, tombstone, by: tombstone ? undefined : by },
        code: { version: stored.version, tombstone: stored.tombstone, by: byOf(stored.item) },
      };
    }
    for (const [name, { to, todo }] of Object.entries(state.replay)) {
      const replay = this.#replays.get(name);
      const held = Array.from(replay?.held ?? [], ([key, { call }]) => [key, call.version]);
      yield { what: `installs of ${name}`, model: todo, code: Object.fromEntries(held) };
      if (held.length > 0) yield { what: `goal of ${name}`, model: to, code: replay?.to };
    }
    yield { what: "watermark", model: state.mark, code: this.#shard.watermark.position };
    yield* this.#compareClients(state);
  }

  *#compareClients(state: ModelState): Generator<Compared> {
    for (const [name, client] of Object.entries(state.client)) {
      const code = this.#clients.get(name);
      yield {
        what: `${name} is aborted by its own check`,
        model: client.pc === "aborted",
        code: this.#aborted.has(name),
      };
      // A reader that gave up has moved nothing in the model; in the code it is of no interest.
      if (client.pc !== "run") continue;
      yield { what: `read timestamp of ${name}`, model: client.r, code: code?.readTimestamp };
      for (const [key, version] of Object.entries(client.read)) {
        const by = this.#writer(state, version);
        const isDeleted = by !== undefined && this.#trace.work[by]?.deletes.includes(key) === true;
        yield {
          what: `${name} reads ${key}`,
          model: isDeleted ? undefined : by,
          code: byOf(code?.read.get(key)),
        };
      }
    }
  }

  /** Who wrote a version, says the model's log. */
  #writer(state: ModelState, version: number): string | undefined {
    const verdicts = state.log.flatMap((block) => block.verdicts);
    return verdicts.find(({ kind, ts }) => kind === "commit" && ts === version)?.t;
  }
}

function actor<Actor>(actors: ReadonlyMap<string, Actor>, name: string): Actor {
  const found = actors.get(name);
  if (found === undefined) throw new Error(`the trace has no ${name}`);
  return found;
}

function byOf(item: { readonly [name: string]: unknown } | undefined): unknown {
  const by = item?.["by"];
  return typeof by === "object" && by !== null && "S" in by ? by.S : undefined;
}

function modelRequest({ id, kind, checkedTo }: CommitRequest): ModelRequest {
  if (kind !== "commit" && kind !== "abort") throw new Error(`the model knows no ${kind}`);
  return { t: nameOf(id), kind, checked: checkedTo };
}

function requestKey({ t, kind, checked }: ModelRequest): string {
  return `${t} ${kind} ${checked.toString()}`;
}

function modelBlock(block: LogBlock): ModelBlock {
  return {
    cursor: Number(block.cursor?.sequenceNumber ?? 0),
    through: block.throughTimestamp,
    verdicts: block.verdicts.map(modelVerdict),
  };
}

function modelVerdict(verdict: Verdict): ModelBlock["verdicts"][number] {
  const t = nameOf(verdict.id);
  if (verdict.kind === "stale") return { t, kind: "stale", ts: 0 };
  if (verdict.kind === "committed") return { t, kind: "commit", ts: verdict.timestamp };
  if (verdict.kind !== "aborted") throw new Error(`the model knows no ${verdict.kind}`);
  const { kind } = verdict.reason;
  if (kind === "conflict" || kind === "probed") return { t, kind, ts: verdict.timestamp };
  if (kind === "checked-ahead") return { t, kind: "ahead", ts: verdict.timestamp };
  throw new Error(`the model knows no ${kind}`);
}
