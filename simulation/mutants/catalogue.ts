/**
 * Ways to break the protocol. The product marks the place with a comment, `// mutant: <name>`; here
 * stands what breaks and how the place changes. The change is made while the simulator is built;
 * none of it is in the product. If the judges are worth anything, they find each mutant within a
 * thousand seeds.
 */
import * as limits from "../../core/limits.ts";
import { bases } from "./base.ts";
import { chains } from "./chains.ts";
import { closing } from "./closing.ts";
import { express } from "./express.ts";
import { feeds } from "./feeds.ts";
import { housekeeping } from "./housekeeping.ts";
import { always, instead, never, omitted, preceded, when, type Mutant } from "./mutant.ts";
import { native } from "./native.ts";
import { sharded } from "./sharded.ts";
import { pasts } from "./past.ts";
import { joins } from "./joins.ts";
import { splits } from "./splits.ts";
import { trust } from "./trust.ts";

const serializable = { isolation: "serializable" } as const;
const snapshot = { isolation: "snapshot" } as const;

/** What a client sends, and what it checks itself. */
const clients: readonly Mutant[] = [
  {
    name: "no-read-set",
    breaks: "a serializable request checks its predicates only: lost updates",
    edit: instead("{ hashes: [...predicates.keys()], reads: [...predicates.values()] }"),
    changes: serializable,
  },
  {
    name: "no-write-set",
    breaks: "a snapshot request checks nothing: the first committer does not win",
    edit: instead("[]"),
    changes: snapshot,
  },
  {
    name: "no-predicates",
    breaks: "a serializable request checks keys only: phantoms",
    edit: instead("{ hashes: [...keys.keys()], reads: [...keys.values()] }"),
    changes: { ...serializable, workload: "phantom" },
  },
  {
    name: "rollback-keeps-writes",
    breaks: "a transaction that was rolled back commits what it had put",
    edit: omitted,
    changes: { ...serializable, workload: "bank" },
  },
  {
    name: "no-local-check",
    breaks: "what was committed between reading and sending is not looked at",
    edit: never,
    changes: serializable,
  },
  {
    name: "no-local-check-of-snapshot",
    breaks: "the same under snapshot isolation",
    edit: always,
    changes: snapshot,
  },
  {
    name: "resend-without-check",
    breaks: "a request is sent again with a later checkedTo that nobody has checked",
    edit: instead("{ ...request, checkedTo: session.follower.tail.newest }"),
    changes: {
      isolation: "serializable",
      faults: { "answer-lost": 0.05, "put-records-in-part": 0.3 },
    },
  },
  {
    name: "unknown-taken-for-aborted",
    breaks: "a commit whose outcome is open is reported as not done",
    edit: instead("new UnavailableError(id, { cause: asError(options.signal.reason) })"),
  },
  {
    name: "unknown-put-taken-for-throttled",
    breaks: "a record that may be in the stream counts as not sent",
    edit: always,
    changes: {
      hurried: 0.6,
      oracleConsumer: "standard",
      faults: { "service-error-after-effect": 0.6 },
    },
  },
  {
    name: "extends-over-conflicts",
    breaks: "the read timestamp moves although something read was overwritten: torn reads",
    edit: never,
  },
  {
    name: "pending-writes-ignored",
    breaks: "a committed write that is not installed yet is not waited for: stale reads",
    edit: always,
  },
  {
    name: "rows-hide-others",
    breaks: "a newer row of one hash hides a write that is not installed: lost updates",
    edit: instead('"shown"'),
    changes: { hashBits: 6, faults: { "crash-after-call": 0.003, "request-late": 0.01 } },
  },
  {
    name: "old-answers-trusted",
    breaks:
      "an answer from before an install that the tail has forgotten counts as new: stale reads",
    edit: never,
    changes: {
      workload: "register",
      history: false,
      lanes: 4,
      faults: { "answer-slow": 0.05, "crash-after-call": 0.003 },
    },
  },
  {
    name: "later-knowledge-used",
    breaks: "what is seen installed after the store was asked counts as in its answer: stale reads",
    edit: instead("(name) => noted.has(name)"),
    changes: {
      workload: "register",
      history: false,
      lanes: 4,
      faults: { "answer-slow": 0.05, "crash-after-call": 0.003 },
    },
  },
  {
    name: "sleepers-read-on",
    breaks: "a reader that slept with its machine takes what was deleted and reaped for absent",
    edit: always,
    changes: { workload: "reinsert" },
  },
  {
    name: "no-refresh-at-begin",
    breaks: "a transaction begins with what its process happens to know: not strict",
    edit: instead((wait) => `this.#session.follower.started || (${wait})`),
  },
  {
    name: "late-helpers-fail-their-reader",
    breaks: "who comes too late to install for another gets the blame",
    edit: {
      "late-installs-are-rejected": instead('super("rejected", "the time to sign has passed")'),
      "late-helpers-fail-their-reader": always,
    },
    changes: { faults: { "freeze-at-call": 0.02, "crash-after-call": 0.01, throttled: 0.02 } },
    refuses: true,
  },
  {
    name: "first-page-only",
    breaks: "a page of a query does not enter its predicate into the read set",
    edit: omitted,
    changes: { ...serializable, workload: "phantom" },
  },
];

/** The oracle and its log. */
const oracles: readonly Mutant[] = [
  {
    name: "certifies-without-checks",
    breaks: "the oracle finds no conflict ever",
    edit: always,
  },
  {
    name: "checks-off-by-a-little",
    breaks: "conflicts within 20 ms of what the client has checked are overlooked",
    edit: when("found <= checkedTo + 20_000"),
  },
  {
    name: "certifies-beyond-its-memory",
    breaks: "a request from below the floor is certified against an index that forgot",
    edit: never,
    changes: { faults: { "consumer-pause": 0.1, "request-late": 0.01, "answer-lost": 0.03 } },
  },
  {
    name: "rebuilds-from-nothing",
    breaks: "a cold oracle does not read the log's end",
    edit: instead("oracle.fold({ ...decodeLogBlock(bytes, position, hashes), verdicts: [] })"),
  },
  {
    name: "forgets-its-rebuild",
    breaks: "an oracle whose time is up begins from the log's end again: it never gets there",
    edit: instead('(this.#standing = { kind: "cold" })'),
    changes: {
      workload: "bank",
      transactions: 100,
      clients: 4,
      oracleTimeLimitMs: limits.oracleReserveMs + 150,
      rebuildBlocksMax: 200,
      rebuildPageBlocksMax: 1,
      faults: { "cold-start": 0.1 },
    },
  },
  {
    name: "others-blocks-not-folded",
    breaks: "an oracle whose position is taken goes on behind a block that it has not looked at",
    edit: instead("oracle.fold({ ...decodeLogBlock(bytes, position, hashes), verdicts: [] })"),
  },
  {
    name: "lost-draft-remembered",
    breaks: "ids of a draft that was not appended count as decided: their requests are passed over",
    edit: omitted,
  },
  {
    name: "claims-more-than-it-folded",
    breaks: "a cold oracle takes what it has not read for what was not committed: lost updates",
    edit: instead("(0 as Timestamp)"),
    changes: {
      workload: "register",
      history: false,
      lanes: 4,
      transactions: 100,
      rebuildBlocksMax: 1,
      rebuildPageBlocksMax: 1,
      faults: { "cold-start": 0.3, "request-late": 0.02, "answer-lost": 0.03 },
    },
  },
  {
    name: "decides-ids-twice",
    breaks: "a redelivered or repeated request is certified again",
    edit: never,
  },
  {
    name: "partitions-not-entered",
    breaks: "writes do not count for their partition: queries are not protected",
    edit: never,
    changes: { ...serializable, workload: "phantom" },
  },
  {
    name: "block-put-without-condition",
    breaks: "two oracles append to one position: a block is overwritten",
    edit: omitted,
  },
  {
    name: "acknowledged-before-the-block",
    breaks: "a put that may have failed counts as done",
    edit: instead((appended) => `${appended}.catch(() => "appended")`),
  },
  {
    name: "taken-means-mine",
    breaks: "a position that another oracle has taken counts as appended",
    edit: never,
  },
  {
    name: "probe-without-abort",
    breaks: "the oracle answers a probe and forgets it: what was settled as aborted commits",
    edit: instead(
      (remember) => `outcome === outcomeCode.probed ? this.#memory.reach(timestamp) : ${remember}`,
    ),
    changes: { hurried: 0.6, faults: { "request-late": 0.1 } },
  },
];

/** Installing, replay and the reaper. */
const installs: readonly Mutant[] = [
  {
    name: "watermark-before-installs",
    breaks: "the watermark vouches for what is not installed",
    edit: preceded("await this.#ports.control.advanceWatermark(shard, after);"),
  },
  {
    name: "installed-said-too-early",
    breaks: "a client tells replay that it has installed what it is about to install",
    edit: preceded("session.reports.add(report);"),
    changes: { faults: { "crash-after-call": 0.003 } },
  },
  {
    name: "replay-skips-a-write",
    breaks: "replay leaves out the last write of what it installs",
    edit: instead((own) => own.replace("overOlder", "overOlder.slice(1)")),
    changes: { history: false, faults: { "crash-after-call": 0.003 } },
  },
  {
    name: "install-without-condition",
    breaks: "a late install overwrites a newer version",
    edit: instead('"attribute_not_exists(#version) OR #version <> :version"'),
    changes: { history: false },
  },
  {
    name: "delete-leaves-no-tombstone",
    breaks: "a reader takes a tombstone for an item of nothing but its key",
    edit: instead('value !== undefined && "N" in value'),
    changes: { workload: "reinsert" },
  },
  {
    name: "reaper-without-grace",
    breaks: "tombstones go at once: a late install brings the item back",
    edit: when("observedMs <= nowMs && timestamp > passed"),
    changes: { workload: "reinsert", history: false, faults: { "request-late": 0.02 } },
  },
  {
    name: "reaper-removes-whatever-stands",
    breaks: "the reaper removes an item that was put again",
    edit: instead('"#tombstone = :true OR #version <> :version"'),
    changes: { workload: "reinsert" },
  },
  {
    name: "history-claims-too-much",
    breaks: "an entry of the version store has a wrong end",
    edit: instead("version + 1e12"),
    // It shows where the entry that would tell better is gone: after a tombstone, if TTL is late.
    changes: { ...snapshot, workload: "reinsert", history: true, faults: { "ttl-late": 0.95 } },
  },
  {
    name: "history-out-of-order",
    breaks: "installs on a table with history do not wait for earlier ones",
    edit: never,
    changes: { workload: "mixed-levels", history: true },
  },
  {
    name: "only-own-deletes-queued",
    breaks: "replay queues no tombstone that a client has installed: it stands for ever",
    edit: when("write.item === undefined && leavesTombstone && !isInstalled"),
    changes: { workload: "reinsert" },
  },
  {
    name: "batch-rest-forgotten",
    breaks: "keys that a batch read hands back unread count as absent",
    edit: always,
    changes: { faults: { "part-unprocessed": 0.5 } },
  },
  {
    name: "effect-without-entry",
    breaks: "a transaction under an idempotency key does not record that it was done",
    edit: omitted,
    changes: { workload: "idempotency" },
  },
  {
    name: "entry-of-an-unknown-id",
    breaks: "a repeat under an idempotency key names a transaction that the log never saw",
    edit: omitted,
    changes: { workload: "idempotency" },
  },
  {
    name: "other-request-answered",
    breaks: "another request under an idempotency key gets the first one's result",
    edit: always,
    changes: { workload: "idempotency" },
  },
  {
    name: "install-signed-late",
    breaks: "a frozen installer wakes up and brings back what the reaper has removed",
    edit: never,
    changes: {
      workload: "reinsert",
      history: false,
      faults: { "freeze-at-call": 0.02, "throttling-storm": 0.05, throttled: 0.05 },
    },
  },
];

export const mutants: readonly Mutant[] = [
  ...clients,
  ...oracles,
  ...installs,
  ...chains,
  ...express,
  ...feeds,
  ...closing,
  ...housekeeping,
  ...trust,
  ...pasts,
  ...native,
  ...sharded,
  ...splits,
  ...joins,
  ...bases,
];
