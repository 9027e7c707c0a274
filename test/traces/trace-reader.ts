/**
 * A transaction as traces drive it: what core/visibility.ts says of each answer of the store, and
 * where the read timestamp goes.
 *
 *     reader r1 at 100 read-write serializable     or read-only, fixed; or snapshot
 *     r1 reads x at 80                             the store's answer; or: x absent
 *     r1 reads x at 80 installed-through 90        asked for when so much was known
 *     r1 reads y absent seen-to A/0                A's first write is installed, and not y's
 *     r1 reads x at 120 history                    older versions can be had
 *     r1 pages orders/ann/* page 1 next 2 shows orders/ann/1 at 90, orders/ann/2 at 95
 *     r1 conflict                                  the check before a commit
 */
import { pageAnswer, type PageRow } from "../../core/page-visibility.ts";
import { commitName, type Tail, type TailCommit } from "../../core/tail.ts";
import { type ReadConflict, TransactionReads } from "../../core/transaction-reads.ts";
import { timestampZero, type Timestamp } from "../../core/types.ts";
import {
  type Answer,
  itemAnswer,
  judge,
  type Judgement,
  type Known,
  type Reading,
} from "../../core/visibility.ts";
import type { Names } from "./names.ts";
import { timeText, type Words } from "./words.ts";

/** What a scenario's readers share with its tail. */
export type TailScene = {
  readonly tail: Tail;
  readonly names: Names;
  /** A's write of x at 120. */
  readonly commitText: (commit: TailCommit) => string;
  /** The commit that the words name: `A/0`, A's first write. */
  readonly commitNamed: (words: Words) => TailCommit;
};

export type TraceReader = (words: Words) => readonly string[];

const modes = ["read-write", "read-only", "fixed"] as const;
const isolations = ["serializable", "snapshot"] as const;

export function readerOf(scene: TailScene, head: Words): TraceReader {
  head.expect("at");
  const reads = new TransactionReads(head.time());
  const mode = head.oneOf(modes);
  const isolation = head.oneOf(isolations);
  head.end();
  return (words) => {
    const command = words.oneOf(["reads", "pages", "conflict"]);
    if (command === "conflict") {
      words.end();
      const conflict = reads.conflict(scene.tail);
      return [conflict === undefined ? "no conflict" : conflictText(conflict)];
    }
    const { answer, remember } = command === "reads" ? item(scene, words) : page(scene, words);
    const history = words.take("history");
    words.end();
    const reading: Reading = { mode, isolation, reads, history };
    const from = reads.readTimestamp;
    const judgement = judge(answer, reading, scene.tail);
    if (judgement.kind === "consistent") {
      reads.advance(judgement.readTimestamp);
      remember(reads);
    }
    return [judgementText(scene, judgement, from)];
  };
}

type Asked = { readonly answer: Answer; readonly remember: (reads: TransactionReads) => void };

function item(scene: TailScene, words: Words): Asked {
  const { name, hashes } = scene.names.item(words);
  const version = words.take("absent") ? timestampZero : (words.expect("at"), words.time());
  const answer = itemAnswer(hashes.key, version, known(scene, words));
  return {
    answer,
    remember: (reads) => {
      reads.addKey(hashes.key, { table: name, key: undefined });
    },
  };
}

/** A page covers all of its predicate: traces of ranges would show nothing more of the decision. */
function page(scene: TailScene, words: Words): Asked {
  const { name, hash, on } = scene.names.hash(words);
  if (on === "key") words.fail(`a page is read under a predicate, not "${name}"`);
  words.expect("page");
  const pageName = words.next("a page");
  const next = words.take("next") ? words.next("a page") : undefined;
  const rows = words.take("shows") ? words.list((each) => row(scene, each)) : [];
  const mayContain = (): "yes" => "yes";
  const shape = { predicate: hash, on, rows, page: pageName, mayContain } as const;
  return {
    answer: pageAnswer(shape, known(scene, words)),
    remember: (reads) => {
      reads.addPredicate(hash, { table: name, on, key: undefined }, { page: pageName, next });
    },
  };
}

function row(scene: TailScene, words: Words): PageRow {
  const { hashes } = scene.names.item(words);
  words.expect("at");
  return { hashes, version: words.time() };
}

/** What was known to be installed when the store was asked: what is known now, unless said. */
function known({ tail, commitNamed }: TailScene, words: Words): Known {
  const installedThrough = words.optionalTime("installed-through") ?? tail.installedThrough;
  const seen = words.take("seen-to") ? words.list((each) => commitName(commitNamed(each))) : [];
  return { installedThrough, installed: new Set(seen) };
}

function judgementText(scene: TailScene, judgement: Judgement, from: Timestamp): string {
  switch (judgement.kind) {
    case "consistent": {
      const { readTimestamp } = judgement;
      const moved = readTimestamp === from ? "" : `, r moved from ${timeText(from)}`;
      return `consistent at ${timeText(readTimestamp)}${moved}`;
    }
    case "lacking": {
      const { where, commits } = judgement.lacking;
      const what = commits.map((commit) => scene.commitText(commit)).join(", ");
      return `lacking${where === "unknown" ? ", perhaps" : ""}: ${what}`;
    }
    case "ahead-of-tail":
      return `ahead-of-tail: version ${timeText(judgement.version)}`;
    case "unsettled":
      return `unsettled: ${judgement.ids.map((id) => scene.names.nameOf(id)).join(", ")}`;
    case "stale-answer":
      return "stale-answer";
    case "overtaken":
      return `overtaken: ${conflictText(judgement.conflict)}`;
  }
}

function conflictText({ read, timestamp }: ReadConflict): string {
  return `${read.table ?? "?"} was written at ${timeText(timestamp)}`;
}
