/**
 * Sessions that a web server puts and deletes blindly, one key for all logins of a device, while
 * transactions end and renew the sessions of two devices at once. Whatever was logged out, and that
 * acknowledged, before a token was even issued does not end that token; and no token that was ended
 * comes back: not by a late install, not by a placeholder, not by a server that puts back what it
 * has read.
 */
import { defineTable } from "../../../sdk/index.ts";
import type { Item } from "../../../core/types.ts";
import { testTable } from "../../../testing/test-tables.ts";
import { mixedTable } from "../../mixed-tables.ts";
import { textIn, type NativeWrite } from "../../native/native-write.ts";
import { numbered, pickHot } from "../key-spaces.ts";
import {
  WorkloadFinding,
  type Client,
  type NativeContext,
  type NativePart,
  type StepContext,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "../workload.ts";

type Login = { readonly token: string; readonly of: string };
type Session = Login & { readonly device: string };

const sessions = defineTable<Login, { readonly device: string }>("sessions", { key: "device" });
const sessionsTable = mixedTable(testTable("sessions", { partitionKey: "device" }));

/** What is known of the tokens of one device. */
class Device {
  /** Issued, and acknowledged; by token, the moment at which that was known. */
  readonly #issued = new Map<string, number>();
  /** A token that was standing for certain before this moment is over. */
  #overBefore = 0;
  #moment = 0;

  /** @returns the moment at which something begins. */
  begin(): number {
    this.#moment += 1;
    return this.#moment;
  }

  issued(token: string): void {
    this.#issued.set(token, this.begin());
  }

  /** Something has replaced or deleted what stood there, and was begun at that moment. */
  replaced(began: number): void {
    this.#overBefore = Math.max(this.#overBefore, began);
  }

  /** Whether the token was known to stand before something that has replaced it was begun. */
  isOver(token: string, at = this.#overBefore): boolean {
    return (this.#issued.get(token) ?? Number.POSITIVE_INFINITY) < at;
  }

  get overBefore(): number {
    return this.#overBefore;
  }
}

export const sessionsWorkload: WorkloadFactory = (settings) => new Sessions(settings);

class Sessions implements Workload {
  readonly tables = [sessionsTable];
  readonly native: NativePart = {
    kinds: ["blind", "aware"],
    step: (context) => this.#log(context),
  };
  readonly #ids: readonly string[];
  readonly #devices: ReadonlyMap<string, Device>;

  constructor({ keys }: WorkloadSettings) {
    this.#ids = numbered("device", keys);
    this.#devices = new Map(this.#ids.map((id) => [id, new Device()]));
  }

  async setUp(client: Client): Promise<void> {
    await client.transact(async (tx) => {
      for (const id of this.#ids.slice(0, 2)) tx.put(sessions, sessionOf(id, `first of ${id}`));
      return Promise.resolve();
    });
  }

  async step({ client, random, isolation, unique, pause }: StepContext): Promise<void> {
    const touched = [...new Set([pickHot(random, this.#ids), random.pick(this.#ids)])];
    const lingersMs = random.chance(0.3) ? random.between(1, 200) : 0;
    const ends = random.chance(0.4);
    const isBlind = random.chance(0.3);
    const befores = touched.map((id) => [id, this.#deviceOf(id).overBefore] as const);
    const began = touched.map((id) => this.#deviceOf(id).begin());
    await client.transact({ isolation }, async (tx) => {
      for (const [id, overBefore] of isBlind ? [] : befores) {
        this.#check(id, await tx.get(sessions, id), overBefore);
      }
      if (lingersMs > 0) await pause(lingersMs);
      for (const id of touched) {
        if (ends) tx.delete(sessions, id);
        else tx.put(sessions, sessionOf(id, unique));
      }
    });
    for (const [i, id] of touched.entries()) {
      this.#deviceOf(id).replaced(began[i] ?? 0);
      if (!ends) this.#deviceOf(id).issued(unique);
    }
  }

  async judge(client: Client): Promise<readonly string[]> {
    const rows = await client.snapshot((snapshot) => snapshot.batchGet(sessions, this.#ids));
    return this.#ids.flatMap((id, i) => {
      try {
        this.#check(id, rows[i], this.#deviceOf(id).overBefore);
        return [];
      } catch (error) {
        return [String(error)];
      }
    });
  }

  /** Logs in or out, or looks who is in. */
  async #log({ items, random, unique, pause }: NativeContext): Promise<void> {
    const id = pickHot(random, this.#ids);
    const device = this.#deviceOf(id);
    const key = { device: { S: id } };
    const { overBefore } = device;
    if (random.chance(0.25)) {
      const read = await items.get(sessionsTable, key);
      if (read?.item !== undefined) this.#check(id, textsOf(read.item), overBefore);
      return;
    }
    const { token, of } = sessionOf(id, unique);
    const isPut = random.chance(0.6);
    const began = device.begin();
    // A server that reads, changes and puts back what it knows nothing of, too.
    const keeps = isPut && items.kind === "blind" && random.chance(0.4);
    const kept = keeps ? (await items.get(sessionsTable, key))?.stored : undefined;
    if (keeps && random.chance(0.7)) await pause(random.between(1, 60));
    const write: NativeWrite = isPut
      ? {
          ...{ kind: "put", item: { ...key, token: { S: token }, of: { S: of } } },
          ...(kept === undefined || "_f" in kept ? {} : { kept }),
        }
      : { kind: "delete", key };
    const asks = items.kind === "aware" && random.chance(0.3);
    const result = await items.write(sessionsTable, asks ? { ...write, returnsOld: true } : write);
    if (result.kind !== "done") return;
    device.replaced(began);
    if (isPut) device.issued(unique);
  }

  #check(id: string, row: Session | undefined, overBefore: number): void {
    if (row === undefined) return;
    if (row.of !== `${id} ${row.token}`) throw new WorkloadFinding(`${id} has a torn session`);
    if (!this.#deviceOf(id).isOver(row.token, overBefore)) return;
    throw new WorkloadFinding(`${row.token} of ${id} is back after it was ended`);
  }

  #deviceOf(id: string): Device {
    return this.#devices.get(id) ?? new Device();
  }
}

function sessionOf(device: string, token: string): Session {
  return { device, token, of: `${device} ${token}` };
}

function textsOf(item: Item): Session {
  const text = (name: string): string => textIn(item, name) ?? "";
  return { device: text("device"), token: text("token"), of: text("of") };
}
