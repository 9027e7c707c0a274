/**
 * The oracle as traces drive it: records in, blocks out as the log would give them back, and the
 * state after each step.
 *
 *     oracle from 100 window 20 weights-max 8 verdicts-max 2 lower-half
 *     same-hash x y                       y has the hash of x
 *     record 1 arrives 120                certifies the record
 *       A serializable checked-to 100 reads x, orders/ann/* writes y
 *       B snapshot checked-to 100 reads x writes y
 *       C abort checked-to 100
 *       D serializable checked-to 100 reads x and 9999 others
 *       E prepare serializable checked-to 100 reads x writes y
 *       E vote                            or: vote forged, whose proof is not the id's
 *       F part serializable checked-to 100 reads x writes y
 *       F vote committed at 130           or: vote aborted, of the whole in all its logs
 *     redeliver 1, 2                      the same records again, in one batch
 *     restart through 2                   a new oracle from the log, which ends with block 2
 *     restart after 1                     one that begins after block 1 and folds the rest
 *
 * As in clients, a serializable request checks what it has read, and a snapshot one what it writes.
 */
import * as limits from "../../core/limits.ts";
import { Oracle } from "../../core/oracle.ts";
import { oracleBoundsDefault, type OracleBounds } from "../../core/oracle-bounds.ts";
import { placeOf } from "../../core/decision.ts";
import { wholeRange, type ShardRange } from "../../core/shard-map.ts";
import type {
  Decision,
  LogBlock,
  LogPosition,
  PreparedVerdict,
  Timestamp,
  Verdict,
  WholeOutcome,
} from "../../core/types.ts";
import { sampleSeed } from "../../testing/sample-hashes.ts";
import {
  appendedDrafts,
  blockOf,
  hash,
  oracleInput,
  type TestRecord,
  type TestRequest,
} from "../core/oracle-harness.ts";
import { Names } from "./names.ts";
import type { Command, Machine } from "./trace-file.ts";
import { timeText, type Words } from "./words.ts";

const payloads = ["read", "unreadable", "too-large"] as const;
const tableFaults = ["unknown", "differs"] as const;
/** Nobody writes them. */
const otherKeys = Array.from({ length: limits.transactionKeysMax }, (_, n) => hash(n));

export function oracleMachine(head: Words): Machine {
  head.expect("from");
  const start = head.time();
  const bounds = readBounds(head);
  const range = head.take("lower-half") ? { from: 0, to: 2 ** 31 } : wholeRange;
  const trace = new OracleTrace(start, bounds, range);
  return (command) => trace.run(command);
}

function readBounds(head: Words): OracleBounds {
  const windowMicros = head.optionalTime("window");
  const weights = head.take("weights-max") ? head.number("weights-max") : undefined;
  const verdicts = head.take("verdicts-max") ? head.number("verdicts-max") : undefined;
  return {
    ...oracleBoundsDefault,
    ...(windowMicros === undefined ? {} : { windowMicros }),
    ...(weights === undefined ? {} : { indexEntriesMax: weights }),
    ...(verdicts === undefined ? {} : { blockVerdictsMax: verdicts }),
  };
}

class OracleTrace {
  readonly #start: Timestamp;
  readonly #bounds: OracleBounds;
  readonly #range: ShardRange;
  readonly #names = new Names();
  readonly #records = new Map<number, TestRecord>();
  /** What requests check and write, in their order, by name. */
  readonly #checks = new Map<string, readonly string[]>();
  readonly #writes = new Map<string, readonly string[]>();
  #log: LogBlock[] = [];
  #oracle: Oracle;

  constructor(start: Timestamp, bounds: OracleBounds, range: ShardRange) {
    this.#range = range;
    this.#start = start;
    this.#bounds = bounds;
    this.#oracle = this.#newOracle();
  }

  #newOracle(after?: LogBlock): Oracle {
    const position = after?.position ?? (0 as LogPosition);
    const begin = { position, timestamp: after?.throughTimestamp ?? this.#start };
    return new Oracle({ ...begin, cursor: after?.cursor }, sampleSeed, this.#bounds, this.#range);
  }

  run({ head, lines }: Command): readonly string[] {
    const command = head.oneOf(["same-hash", "record", "redeliver", "restart"]);
    if (command !== "record" && lines.length > 0) lines[0]?.fail(`${command} has no lines`);
    switch (command) {
      case "same-hash":
        if (this.#names.collide(head).hashes.sortKey === undefined) return [];
        // A block gives partition and sort key, from which the real hash of the key follows.
        return head.fail("here only items without sort keys share a hash");
      case "record":
        return this.#certify([this.#record(head, lines)]);
      case "redeliver": {
        const numbers = head.list((words) => words.number("a record"));
        head.end();
        return this.#certify(
          numbers.map((n) => this.#records.get(n) ?? head.fail(`there is no record ${n}`)),
        );
      }
      case "restart":
        return this.#restart(head);
    }
  }

  #record(head: Words, lines: readonly Words[]): TestRecord {
    const number = head.number("a record");
    if (this.#records.has(number)) head.fail(`record ${number} was there: redeliver it`);
    head.expect("arrives");
    const arrivalMs = head.time() / 1000;
    if (!Number.isInteger(arrivalMs)) head.fail("records arrive at whole milliseconds");
    const rejected = head.take("rejected");
    head.end();
    const requests = lines.map((line) => this.#request(line));
    const record = { sequence: BigInt(number), arrivalMs, rejected, requests };
    this.#records.set(number, record);
    return record;
  }

  #request(words: Words): TestRequest {
    const id = this.#names.id(words);
    if (words.take("vote")) {
      const isForged = words.take("forged");
      const whole = readWhole(words);
      words.end();
      return { id, kind: "vote", checkedTo: 0, isForged, ...(whole && { whole }) };
    }
    const isPart = words.take("part");
    const prepares = isPart || words.take("prepare");
    const kind = words.oneOf(["serializable", "snapshot", "abort"]);
    words.expect("checked-to");
    const checkedTo = words.time();
    const reads = words.take("reads") ? words.list((each) => this.#names.hash(each)) : [];
    const writes = words.take("writes") ? words.list((each) => this.#names.item(each)) : [];
    const spilled = words.take("spilled") ? words.oneOf(payloads) : undefined;
    const tableFault = words.take("table") ? words.oneOf(tableFaults) : undefined;
    const others = words.take("and") ? words.number("a number of keys") : 0;
    if (others > 0) words.expect("others");
    words.end();
    const written = writes.map(({ name, hashes }) => ({ name, hash: hashes.key }));
    const checks = kind === "snapshot" ? written : reads;
    const name = this.#names.nameOf(id);
    if (kind !== "abort") {
      this.#checks.set(
        name,
        checks.map((each) => each.name),
      );
      this.#writes.set(
        name,
        writes.map((each) => each.name),
      );
    }
    return {
      id,
      isPart,
      kind: kind === "abort" ? "abort" : prepares ? "prepare" : "commit",
      isolation: kind === "snapshot" ? "snapshot" : "serializable",
      checkedTo,
      checks: [...checks.map((each) => each.hash), ...otherKeys.slice(0, others)],
      writes: writes.map(({ hashes: { table, partition, sortKey } }) =>
        sortKey === undefined ? { table, partition } : { table, partition, sortKey },
      ),
      ...(spilled === undefined ? {} : { spilled }),
      ...(tableFault === undefined ? {} : { tableFault }),
    };
  }

  #certify(records: readonly TestRecord[]): string[] {
    const input = oracleInput(records);
    const answers: string[] = [];
    for (const draft of appendedDrafts(this.#oracle, input)) {
      const block = blockOf(draft, input);
      this.#log.push(block);
      const through = timeText(block.throughTimestamp);
      answers.push(`block ${block.position}: through ${through}, cursor ${cursorText(block)}`);
      if (block.oldestOpen !== undefined) {
        answers.push(`  the oldest open one is in block ${block.oldestOpen}`);
      }
      answers.push(...block.verdicts.map((verdict) => `  ${this.#verdictText(verdict)}`));
      if (draft.duplicates > 0) answers.push(`  duplicates: ${draft.duplicates}`);
      if (block.rejectedRecords > 0) answers.push(`  rejected records: ${block.rejectedRecords}`);
    }
    if (answers.length === 0) answers.push("no block: the cursor has covered this");
    return [...answers, this.#state()];
  }

  #restart(head: Words): string[] {
    const after = head.take("after") ? head.number("a block") : 0;
    const through = head.take("through") ? head.number("a block") : this.#log.length;
    head.end();
    if (after > through || through > this.#log.length) head.fail("the log has no such blocks");
    this.#log = this.#log.slice(0, through);
    this.#oracle = this.#newOracle(this.#log[after - 1]);
    // As functions/oracle/rebuild.ts does.
    const oldestOpen = this.#log[after]?.oldestOpen ?? after + 1;
    for (const block of this.#log.slice(oldestOpen - 1, after)) this.#oracle.foldOpen(block);
    for (const block of this.#log.slice(after)) this.#oracle.fold(block);
    return [this.#state()];
  }

  #state(): string {
    const { last, floor } = this.#oracle;
    const { decidedIds, open } = this.#oracle.figures();
    const state = `last ${timeText(last)}, floor ${timeText(floor)}, ids remembered: ${decidedIds}`;
    return open === 0 ? state : `${state}, open: ${open}`;
  }

  #verdictText(verdict: Verdict): string {
    const name = this.#names.nameOf(verdict.id);
    if (verdict.kind === "stale") return `${name} stale`;
    if (verdict.kind === "busy")
      return `${name} busy, ${this.#names.nameOf(verdict.inTheWay)} is open`;
    const head = `${name} ${kindText(verdict)} at ${timeText(placeOf(verdict))}`;
    if (verdict.kind === "committed" || verdict.kind === "prepared") {
      const writes = this.#writes.get(name) ?? [];
      return `${head}: ${writes.length === 0 ? "no writes" : `writes ${writes.join(", ")}`}`;
    }
    const { reason } = verdict;
    if (reason.kind !== "conflict") return `${head}: ${reason.kind}`;
    const check = this.#checks.get(name)?.[reason.check] ?? "nothing";
    return `${head}: conflict, ${check} was written at ${timeText(reason.conflictTimestamp)}`;
  }
}

function readWhole(words: Words): WholeOutcome | undefined {
  if (words.take("aborted")) return { kind: "aborted" };
  if (!words.take("committed")) return undefined;
  words.expect("at");
  return { kind: "committed", timestamp: words.time() };
}

function kindText(verdict: Decision | PreparedVerdict): string {
  if (verdict.kind !== "committed") return verdict.kind;
  if (verdict.placed !== undefined) return `counted as of ${timeText(verdict.timestamp)}`;
  return verdict.stamps === undefined ? "committed" : "voted";
}

function cursorText({ cursor }: LogBlock): string {
  if (cursor === undefined) return "none";
  const done = cursor.requestsDone;
  return `${cursor.sequenceNumber}${done === "all" ? "" : `, ${done} of its requests done`}`;
}
