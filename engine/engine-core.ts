/**
 * What all calls of one engine share: the shards' sessions, the registry, the count of what is
 * under way.
 */
import { InvalidRequestError, StoreError, TransactionClosedError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { ClientPorts } from "../core/ports.ts";
import type { ShardEntry } from "../core/shard-map.ts";
import { KeyHashes } from "../schemas/key-hashes.ts";
import type { AttemptServices } from "./attempts/attempt-services.ts";
import { Call } from "./call.ts";
import { ignore, orAborted } from "./concurrency.ts";
import type { OwnCommits } from "./committing/own-commits.ts";
import { publicError } from "./public-error.ts";
import { quiet } from "./quiet-listener.ts";
import { ShardSession, type BlockMaking } from "./shard-session.ts";
import { Sessions, type OpenSession } from "./sessions.ts";
import { TableRegistry } from "./table-registry.ts";
import type { CallEvent, CommitPreference, EngineEvent } from "./types.ts";

const chaining = new OnDemand("chaining", () => import("./chaining/chains.ts"));
const mixing = new OnDemand("mixed tables", () => import("./mixed/transactions.ts"));
const sharding = new OnDemand("several shards", () => import("./sharded/settle-part.ts"));
const expressing = new OnDemand("express", () => import("./express/express.ts"));

export type EngineOptions = {
  /**
   * Before a commit is sent, a tail older than this is refreshed to find conflicts without the
   * oracle. Default 100.
   */
  readonly freshMs?: number;
  /**
   * Whether transactions may read what others of this process are about to commit, and are then
   * certified with them. Default true.
   */
  readonly chaining?: boolean | undefined;
  /**
   * Which way transactions are committed: `"express"`, by blocks of this process's own, and what no
   * block takes by the stream; `"auto"`, by what serves better. Default `"auto"`.
   */
  readonly commit?: CommitPreference | undefined;
  /** Called synchronously; what it throws is ignored. */
  readonly onEvent?: ((event: EngineEvent) => void) | undefined;
};

export class EngineCore {
  readonly ports: ClientPorts;
  readonly registry: TableRegistry;
  readonly #options: EngineOptions;
  readonly #emit: ((event: EngineEvent) => void) | undefined;
  #sessions: Promise<Sessions> | undefined;
  readonly #underWay = new Set<Promise<unknown>>();
  /** Work that outlives its call; `close` waits for it. */
  readonly background = new Set<Promise<void>>();
  /** By BASE transaction, its step whose body runs here. */
  readonly stepsHere = new Map<string, string>();
  #closed = false;

  constructor(ports: ClientPorts, options: EngineOptions) {
    this.ports = ports;
    this.#options = options;
    this.registry = new TableRegistry(ports.control, ports.clock);
    const { onEvent } = options;
    this.#emit = onEvent && quiet(onEvent);
  }

  /** Opens a call, runs the task under it, and turns the stores' errors into the public ones. */
  async run<T>(
    options: { readonly deadlineMs?: number; readonly signal?: AbortSignal },
    task: (call: Call) => Promise<T>,
  ): Promise<T> {
    this.assertOpen();
    const call = new Call(this.ports.clock, options);
    const running = task(call);
    const tracked = running.then(ignore, ignore);
    this.#underWay.add(tracked);
    try {
      return await running;
    } catch (error) {
      throw publicError(error);
    } finally {
      call.end();
      this.#underWay.delete(tracked);
    }
  }

  assertOpen(): void {
    if (this.#closed) throw new TransactionClosedError("the client is closed; create a new one");
  }

  /** Tells what happens in the call. Undefined: nobody listens, and nothing is to be built. */
  emitOf({ id }: Call): ((event: CallEvent) => void) | undefined {
    const emit = this.#emit;
    return (
      emit &&
      ((event) => {
        emit({ ...event, call: id });
      })
    );
  }

  /** What is shared goes on to be made, also where the call's time is up. */
  async services(call: Call): Promise<AttemptServices> {
    await orAborted(this.ready(), call.signal);
    const sessions = await orAborted(this.#sharedSessions(), call.signal);
    const hasExpress = sessions.opened.some(({ session }) => session.express !== undefined);
    if (hasExpress) this.registry.keepBelow(limits.expressRegistryMsMax);
    return {
      ports: this.ports,
      sessions,
      registry: this.registry,
      call,
      freshMs: this.#options.freshMs ?? 100,
      emit: this.emitOf(call),
      background: this.background,
    };
  }

  /** @throws InvalidRequestError where there is no deployment of that name. */
  async ready(): Promise<void> {
    await this.registry.ready().catch((error: unknown) => {
      throw this.#notDeployed(error) ?? error;
    });
  }

  /** The registry is the first thing that a client reads of its deployment. */
  #notDeployed(cause: unknown): InvalidRequestError | undefined {
    if (!(cause instanceof StoreError) || cause.code !== "ResourceNotFoundException") return;
    const { name } = this.ports.control.idempotencyTable;
    return new InvalidRequestError(
      "deployment",
      `there is no such deployment here: its table ${name} does not exist; ` +
        "look at the deployment's name, the region and the account",
      { cause },
    );
  }

  async #sharedSessions(): Promise<Sessions> {
    this.#sessions ??= this.#openSessions().catch((error: unknown) => {
      this.#sessions = undefined; // The next call tries again.
      // What this copy says, `provision` may have changed by then.
      this.registry.forget();
      throw error;
    });
    return this.#sessions;
  }

  /** Of one shard the session is opened at once; of several each with its first use. */
  async #openSessions(): Promise<Sessions> {
    // Loaded beside what is asked first, and not when something is about to be committed.
    if (this.#options.chaining !== false) chaining.load().catch(ignore);
    if (this.#wantsExpress) expressing.load().catch(ignore);
    const map = await this.ports.control.shardMap();
    const [first] = map?.entries ?? [];
    if (map === undefined || first === undefined) {
      throw new InvalidRequestError(
        "deployment",
        "the deployment's control table lists no shard; is it provisioned?",
      );
    }
    const hashes = new KeyHashes(await this.ports.control.keyHasher(first.id));
    const sessions: Sessions = new Sessions(map, hashes, {
      open: (entry) => this.#openSession(entry, sessions),
      readMap: () => this.ports.control.shardMap(),
      log: this.ports.log,
    });
    if (sessions.lone !== undefined) await sessions.of(first.number);
    return sessions;
  }

  get #wantsExpress(): boolean {
    const { commit = "auto" } = this.#options;
    return commit !== "stream" || this.registry.streamless;
  }

  async #openSession({ id: shard, number }: ShardEntry, sessions: Sessions): Promise<OpenSession> {
    const { commit = "auto" } = this.#options;
    const loading = this.#options.chaining === false ? undefined : chaining.load();
    loading?.catch(ignore);
    const lineage = sessions.map.lineageOf(number);
    const hashes = new KeyHashes(sessions.hashes.hasher, { shard: number, lineage });
    const part = await loading;
    const session: ShardSession = new ShardSession(
      this.ports,
      {
        shard,
        hashes,
        onBegin: (watermark) => sessions.begins(number, watermark),
        onVerdict: (verdict) => own?.fold(verdict),
        onBlock: (block, as) => {
          sessions.follow(number, block);
          session.express?.saw(block, as);
        },
      },
      {
        registry: this.registry,
        blocks: {
          streamless: () => this.registry.streamless,
          load: (session) => this.#loadExpress(session, commit),
        },
        loadMixed: (session) =>
          mixing.use((part) =>
            Promise.resolve(new part.MixedTransactions(this.ports, session, sessions)),
          ),
        settlePart: (session, prepared, met) =>
          sharding.use((part) =>
            part.settlePart({ ports: this.ports, sessions }, session, { ...met, prepared }),
          ),
        onHelped: (verdict) =>
          this.#emit?.({
            kind: "helped",
            transactionId: verdict.id,
            writes: verdict.writes.length,
          }),
      },
    );
    const own: OwnCommits | undefined = part && new part.Chains(this.ports.clock, session.follower);
    if (this.#wantsExpress) await session.readyExpress();
    return { session, own };
  }

  #loadExpress(session: ShardSession, mode: CommitPreference): ReturnType<BlockMaking["load"]> {
    return expressing.use(async (part) => {
      const { append } = this.ports.log;
      const way =
        append &&
        (await part.createExpress({
          ...{ append, session, registry: this.registry, mode },
          ports: this.ports,
          onDenied: (cause) => this.#emit?.({ kind: "express-denied", cause }),
        }));
      return {
        way,
        withoutStream: (last) => part.withoutStream(way?.denied, last),
      };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    while (this.#underWay.size > 0 || this.background.size > 0) {
      await Promise.all([...this.#underWay, ...this.background]);
    }
    const sessions = await this.#sessions?.catch(() => undefined);
    await sessions?.close();
  }
}
