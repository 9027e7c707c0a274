/**
 * The tail as traces drive it, and readers on it (trace-reader.ts).
 *
 *     tail from 100
 *     same-hash x y                            y has the hash of x
 *     block through 130                        folds the next block
 *       A committed at 120 writes x, orders/ann/1
 *       B aborted at 130 probed
 *       C stale
 *       D part at 120 writes x                 prepared, in this log and another
 *     watermark block 1 at 130                 learns that commits up to 130 are installed
 *     release                                  no transaction is running; or: release oldest 120
 *     last-commit orders/ann/*                 and newest-commit x above 100 up-to 130,
 *     decision A                               oldest-commit x above 100 below 130,
 *                                              commits-under orders/* above 100 up-to 130
 */
import { Tail, type TailCommit } from "../../core/tail.ts";
import type {
  CommittedVerdict,
  LogPosition,
  SequenceNumber,
  Timestamp,
  Verdict,
} from "../../core/types.ts";
import { partsOfTwo } from "../core/oracle-harness.ts";
import { Names } from "./names.ts";
import type { Command, Machine } from "./trace-file.ts";
import { readerOf, type TailScene, type TraceReader } from "./trace-reader.ts";
import { timeText, type Words } from "./words.ts";

const sequenceNumber = "1" as SequenceNumber;
const queries = ["last-commit", "newest-commit", "oldest-commit", "commits-under"] as const;
const commands = ["same-hash", "block", "watermark", "release", "decision", "reader"] as const;

export function tailMachine(head: Words): Machine {
  head.expect("from");
  const trace = new TailTrace(head.time());
  return (command) => trace.run(command);
}

class TailTrace implements TailScene {
  readonly tail: Tail;
  readonly names = new Names();
  /** Items that a transaction wrote, by its name. */
  readonly #writes = new Map<string, readonly string[]>();
  readonly #verdicts = new Map<string, CommittedVerdict>();
  readonly #readers = new Map<string, TraceReader>();

  constructor(start: Timestamp) {
    this.tail = new Tail({ position: 0 as LogPosition, timestamp: start });
  }

  run({ head, lines }: Command): readonly string[] {
    const reader = this.#readers.get(head.peek());
    if (reader !== undefined) {
      lines[0]?.fail("a reader's line has no lines");
      head.next("a reader");
      return reader(head);
    }
    const command = head.oneOf([...commands, ...queries]);
    if (command !== "block") lines[0]?.fail(`${command} has no lines`);
    switch (command) {
      case "same-hash":
        this.names.collide(head);
        return [];
      case "block":
        return this.#fold(head, lines);
      case "watermark":
        return this.#learn(head);
      case "release": {
        const oldest = head.optionalTime("oldest");
        head.end();
        this.tail.release(oldest);
        return [this.#state()];
      }
      case "decision": {
        const verdict = this.tail.decision(this.names.id(head));
        head.end();
        return [verdict === undefined ? "none is known" : this.#verdictText(verdict)];
      }
      case "reader": {
        const name = head.next("a reader's name");
        if (!/^r\d$/u.test(name)) head.fail(`a reader is r1, r2, …, not "${name}"`);
        this.#readers.set(name, readerOf(this, head));
        return [];
      }
      default:
        return this.#query(command, head);
    }
  }

  #fold(head: Words, lines: readonly Words[]): string[] {
    head.expect("through");
    const throughTimestamp = head.time();
    head.end();
    const verdicts = lines.map((line) => this.#verdict(line));
    this.tail.fold({
      position: (this.tail.position + 1) as LogPosition,
      previousTimestamp: this.tail.newest,
      throughTimestamp,
      cursor: { sequenceNumber, requestsDone: "all" },
      arrivalMs: throughTimestamp / 1000,
      rejectedRecords: 0,
      verdicts,
    });
    return [this.#state()];
  }

  #verdict(words: Words): Verdict {
    const id = this.names.id(words);
    const kind = words.oneOf(["committed", "aborted", "stale", "part"]);
    if (kind === "stale") {
      words.end();
      return { kind, id };
    }
    words.expect("at");
    const timestamp = words.time();
    if (kind === "aborted") {
      words.expect("probed");
      words.end();
      return { kind, id, timestamp, reason: { kind: "probed" } };
    }
    words.expect("writes");
    const items = words.list((each) => this.names.item(each));
    words.end();
    const payload = { kind: "inline", bytes: new Uint8Array(0) } as const;
    const writes = items.map(({ hashes }) => hashes);
    if (kind === "part") {
      const parts = partsOfTwo(timestamp);
      return { kind: "prepared", id, timestamp, checks: [], writes, payload, parts };
    }
    const verdict = { kind, id, timestamp, writes, payload } as const;
    const name = this.names.nameOf(id);
    this.#verdicts.set(name, verdict);
    this.#writes.set(
      name,
      items.map((item) => item.name),
    );
    return verdict;
  }

  #learn(head: Words): string[] {
    head.expect("block");
    const position = head.number("a block") as LogPosition;
    head.expect("at");
    const timestamp = head.time();
    head.end();
    this.tail.learnWatermark({ position, timestamp });
    return [this.#state()];
  }

  #query(query: (typeof queries)[number], head: Words): string[] {
    const { hash } = this.names.hash(head);
    if (query === "last-commit") {
      head.end();
      const timestamp = this.tail.lastCommit(hash);
      return [timestamp === undefined ? "none above the floor" : timeText(timestamp)];
    }
    head.expect("above");
    const above = head.time();
    head.expect(query === "oldest-commit" ? "below" : "up-to");
    const end = head.time();
    const upTo = { by: "place", at: end } as const;
    head.end();
    if (query === "commits-under") {
      const found = Array.from(this.tail.commitsUnder(hash, { above, upTo }));
      if (found.length === 0) return ["none"];
      return found.map(({ commit }) => this.commitText(commit));
    }
    const commit =
      query === "newest-commit"
        ? this.tail.newestCommit(hash, { above, upTo })
        : this.tail.oldestCommit(hash, { above, below: end });
    return [commit === undefined ? "none" : this.commitText(commit)];
  }

  readonly commitText = ({ verdict, timestamp, write }: TailCommit): string => {
    const name = this.names.nameOf(verdict.id);
    return `${name}'s write of ${this.#writes.get(name)?.[write] ?? ""} at ${timeText(timestamp)}`;
  };

  readonly commitNamed = (words: Words): TailCommit => {
    const word = words.next("a write");
    const [, name = "", write = ""] = /^([A-Z])\/(\d)$/u.exec(word) ?? [];
    const verdict = this.#verdicts.get(name);
    if (verdict?.writes[Number(write)] === undefined) words.fail(`there is no write ${word}`);
    return { verdict, timestamp: verdict.timestamp, write: Number(write) };
  };

  #verdictText(verdict: Verdict): string {
    if (!("timestamp" in verdict)) return verdict.kind;
    return `${verdict.kind} at ${timeText(verdict.timestamp)}`;
  }

  #state(): string {
    const { position, newest, floor, installedThrough, blockCount } = this.tail;
    const times = [`newest ${timeText(newest)}`, `floor ${timeText(floor)}`];
    const installed = `installed through ${timeText(installedThrough)}`;
    return [`at block ${position}`, ...times, installed, `blocks held: ${blockCount}`].join(", ");
  }
}
