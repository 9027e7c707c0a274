/** Naive items as the port, with what becomes of single calls and of their answers. */
import { assert } from "../../../core/assert.ts";
import type { FenceFate, MetFence } from "../../../core/fence.ts";
import type { Attempted, ItemAddress, MixedItemStore } from "../../../core/mixed-items-port.ts";
import type { Item, TransactionId } from "../../../core/types.ts";
import { MixedItems } from "../../../engine/mixed/mixed-items.ts";
import { NaiveItems } from "./naive-items.ts";

const table = { name: "t", partitionKey: "pk" };
export const key: Item = { pk: { S: "x" } };
export const at: ItemAddress = { table, key };

export const idOf = (digit: string) => digit.padStart(32, "0") as TransactionId;
export const nonceOf = (byte: number) => new Uint8Array(16).fill(byte);

export class ScriptedStore {
  readonly naive = new NaiveItems();
  /** In their order, with what they asked for. */
  readonly calls: (readonly [string, unknown])[] = [];
  readonly settled: TransactionId[] = [];
  /** Run before the calls, one each; what it returns takes the place of the call. */
  readonly script: (((call: () => Attempted) => Attempted | undefined) | undefined)[] = [];
  readonly fates = new Map<TransactionId, FenceFate>();
  /** What settling comes to, by the fence. */
  readonly settling = new Map<TransactionId, () => void>();
  readonly items: MixedItems;
  #nonces = 100;

  constructor(first?: Item) {
    this.put(first);
    this.items = new MixedItems(
      {
        mixed: this.#port(),
        clock: {
          nowMs: () => 0,
          monotonicMs: () => 0,
          sleep: async (_ms, signal) => Promise.resolve(signal?.throwIfAborted()),
        },
        random: { next: () => 0, bytes: () => nonceOf((this.#nonces += 1)) },
      },
      {
        fateOf: ({ fence }: MetFence) => Promise.resolve(this.fates.get(fence) ?? { kind: "over" }),
        settle: ({ fence }: MetFence) => {
          this.settled.push(fence);
          assert(this.settled.length < 50, "nothing is settled for ever");
          this.settling.get(fence)?.();
          return Promise.resolve();
        },
      },
    );
  }

  get item(): Item | undefined {
    return this.naive.get(key);
  }

  put(item: Item | undefined): void {
    this.naive.put(key, item && { ...item, ...key });
  }

  get called(): readonly string[] {
    return this.calls.map(([name]) => name);
  }

  #port(): MixedItemStore {
    const { naive } = this;
    const once = (name: string, request: unknown, apply: () => Attempted): Promise<Attempted> => {
      this.calls.push([name, request]);
      return Promise.resolve(this.script.shift()?.(apply) ?? apply());
    };
    const noted = <Answer>(name: string, request: unknown, answer: Answer): Promise<Answer> => {
      this.calls.push([name, request]);
      return Promise.resolve(answer);
    };
    const refuse = () => Promise.reject(new Error("one item has no pages"));
    return {
      query: refuse,
      scan: refuse,
      read: (request) => noted("read", request, this.item),
      readAll: (requests) =>
        noted(
          "readAll",
          requests,
          requests.map((each) => naive.get(each.key)),
        ),
      fence: (request) => once("fence", request, () => naive.fence(request)),
      stamp: (request) => once("stamp", request, () => naive.stamp(request)),
      writeLocally: (request) => once("write", request, () => naive.writeLocally(request)),
      install: (request) => noted("install", request, naive.install(request)),
      cleanUp: (request) => noted("cleanUp", request, naive.cleanUp(request)),
    };
  }
}

const lost = { kind: "unknown", cause: "lost" } as const;

/** The call has its effect, and the answer is lost. */
export function loseAnswer(call: () => Attempted): Attempted {
  call();
  return lost;
}

/** The call has no effect, or it comes when `later` is told to. */
export function loseCall(later?: (() => void)[]): (call: () => Attempted) => Attempted {
  return (call) => {
    later?.push(() => void call());
    return lost;
  };
}
