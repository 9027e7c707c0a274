/**
 * The deployment that the console looks at: connected on first use, its map and registry read anew
 * every few seconds, since shards are split and tables registered while it looks. All of it through
 * clients that refuse to write; but for the tables of a local stack, which are read as any client
 * reads them: it installs what others have left, and asks a quiet shard how far it has come.
 */
import { createAwsClientPorts, type AwsClientPorts } from "../../aws/client-ports.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports.ts";
import { createClientEngine } from "../../engine/client-engine.ts";
import type { ClientEngine } from "../../engine/types.ts";
import { target } from "../../sdk/connect.ts";
import type { ClientOptions } from "../../sdk/tables.ts";
import {
  connectTo,
  opened,
  type Connection,
  type Deployment,
} from "../../inspection/deployment.ts";
import { Names } from "../../inspection/names.ts";

/** How old a map and a registry may be. */
const renewMs = 5_000;

export type Seen = { readonly deployment: Deployment; readonly names: Names };

export class Sight {
  readonly #where: ClientOptions;
  readonly #clock: Clock;
  #connection: Promise<Connection> | undefined;
  #seen: { readonly atMs: number; readonly seen: Promise<Seen> } | undefined;
  #engine: Promise<ClientEngine> | undefined;
  #localPorts: AwsClientPorts | undefined;
  #closed = false;

  constructor(where: ClientOptions, clock: Clock) {
    this.#where = where;
    this.#clock = clock;
  }

  get clock(): Clock {
    return this.#clock;
  }

  /** On AWS every read is paid for, and the streams' reads are few. */
  get isLocal(): boolean {
    return this.#where.endpoint !== undefined;
  }

  /** @throws what keeps it from being read, such as that nothing answers. */
  seen(): Promise<Seen> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#seen !== undefined && nowMs - this.#seen.atMs < renewMs) return this.#seen.seen;
    const seen = this.#look();
    const entry = { atMs: nowMs, seen };
    this.#seen = entry;
    seen.catch(() => {
      if (this.#seen === entry) this.#seen = undefined;
    });
    return seen;
  }

  /** For reads at a moment; on AWS it installs nothing. */
  engine(): Promise<ClientEngine> {
    this.#engine ??= this.#begin();
    this.#engine.catch(() => {
      this.#engine = undefined;
    });
    return this.#engine;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const engine = await this.#engine?.catch(() => undefined);
    await engine?.close();
    await this.#localPorts?.close();
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.close();
  }

  async #begin(): Promise<ClientEngine> {
    const connection = await this.#connect();
    if (!this.isLocal) return createClientEngine(connection.ports, {});
    this.#localPorts = createAwsClientPorts({ ...(await target(this.#where)), clock: this.#clock });
    return createClientEngine(this.#localPorts, {});
  }

  async #look(): Promise<Seen> {
    const deployment = await opened(await this.#connect());
    return { deployment, names: new Names(deployment) };
  }

  #connect(): Promise<Connection> {
    if (this.#closed) {
      return Promise.reject(new InvalidRequestError("console", "the console has been closed"));
    }
    if (this.#connection !== undefined) return this.#connection;
    const connection = connectTo(this.#where);
    this.#connection = connection;
    connection.catch(() => {
      if (this.#connection === connection) this.#connection = undefined;
    });
    return connection;
  }
}
