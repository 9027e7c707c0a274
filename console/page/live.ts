/**
 * The live stream: read by `fetch`, since an `EventSource` sends no token. It is taken up again
 * behind the last event that was seen; the server says where that is too long ago.
 */
import * as limits from "../limits.ts";
import type { BlockLine, FaultState, LiveEvent, Second, State } from "../wire.ts";
import { headers } from "./api.ts";

export type Live = {
  readonly connection: "connecting" | "live" | "lost" | "refused";
  /** By how much the server's clock is ahead of this one. */
  readonly aheadMs: number;
  readonly seconds: readonly Second[];
  /** Newest last. */
  readonly blocks: readonly BlockLine[];
  /** Blocks that were too many to be shown. */
  readonly skipped: number;
  readonly state: State | undefined;
  readonly faults: FaultState | undefined;
  readonly trouble: string | undefined;
};

const retryMsMin = 500;
const retryMsMax = 5_000;

type Listener = () => void;

export class LiveStream {
  #live: Live = {
    connection: "connecting",
    aheadMs: 0,
    seconds: [],
    blocks: [],
    skipped: 0,
    state: undefined,
    faults: undefined,
    trouble: undefined,
  };
  #last = "";
  #retryMs = retryMsMin;
  readonly #listeners = new Set<Listener>();

  get now(): Live {
    return this.#live;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What an order has answered is newer than what the stream has told. */
  noteFaults(faults: FaultState): void {
    this.#set({ faults });
  }

  start(): void {
    void this.#follow();
  }

  async #follow(): Promise<void> {
    for (;;) {
      try {
        await this.#read();
      } catch {
        // Whatever it was, it is taken up again.
      }
      if (this.#live.connection !== "refused") this.#set({ connection: "lost" });
      await new Promise((resolve) => setTimeout(resolve, this.#retryMs));
      this.#retryMs = Math.min(retryMsMax, this.#retryMs * 2);
    }
  }

  async #read(): Promise<void> {
    const given = this.#last === "" ? {} : { "last-event-id": this.#last };
    const response = await fetch("/api/events", { headers: { ...headers(), ...given } });
    if (response.status === 401) this.#set({ connection: "refused" });
    if (!response.ok || response.body === null) return;
    this.#set({ connection: "live" });
    this.#retryMs = retryMsMin;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) this.#take(part);
    }
  }

  #take(text: string): void {
    let data = "";
    for (const line of text.split("\n")) {
      if (line.startsWith("id: ")) this.#last = line.slice(4);
      if (line.startsWith("data: ")) data += line.slice(6);
    }
    if (data !== "") this.#fold(JSON.parse(data) as LiveEvent);
  }

  #fold(event: LiveEvent): void {
    switch (event.kind) {
      case "start": {
        const { kind: _kind, nowMs, ...rest } = event;
        this.#set({ ...rest, skipped: 0, aheadMs: nowMs - Date.now() });
        return;
      }
      case "seconds":
        this.#set({
          aheadMs: event.nowMs - Date.now(),
          seconds: merged(this.#live.seconds, event.seconds),
        });
        return;
      case "blocks":
        this.#set({
          blocks: joined(this.#live.blocks, event.blocks),
          skipped: this.#live.skipped + event.skipped,
        });
        return;
      case "state":
        this.#set({ state: event.state });
        return;
      case "faults":
        this.#set({ faults: event.faults });
        return;
      case "trouble":
        this.#set({ trouble: event.message });
        return;
    }
  }

  #set(change: Partial<Live>): void {
    this.#live = { ...this.#live, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function merged(old: readonly Second[], changed: readonly Second[]): readonly Second[] {
  const all = new Map(old.map((each) => [each.at, each]));
  for (const each of changed) all.set(each.at, { ...all.get(each.at), ...each });
  return [...all.values()].sort((a, b) => a.at - b.at).slice(-limits.secondsKept);
}

/** A stream that is taken up again may tell some twice. */
function joined(old: readonly BlockLine[], added: readonly BlockLine[]): readonly BlockLine[] {
  const nameOf = ({ shard, position }: BlockLine): string => `${shard}/${position}`;
  const known = new Set(old.map(nameOf));
  return [...old, ...added.filter((each) => !known.has(nameOf(each)))].slice(
    -limits.pageBlocksKept,
  );
}
