/**
 * Ways to break the protocol, each as a small change of one place of the product, made while the
 * simulator is built. None of it is in the product. If the judges are worth anything, each is found
 * within a thousand seeds.
 */
import { chains } from "./chains.ts";
import { patch, type Mutant } from "./mutant.ts";

const serializable = { isolation: "serializable" } as const;
const snapshot = { isolation: "snapshot" } as const;

/** What a client sends, and what it checks itself. */
const clients: readonly Mutant[] = [
  {
    name: "no-read-set",
    breaks: "a serializable request checks its predicates only: lost updates",
    patches: patch(
      "engine/commit.ts",
      "hashes: [...keys.keys(), ...predicates.keys()],\n    reads: [...keys.values(), ...predicates.values()],",
      "hashes: [...predicates.keys()],\n    reads: [...predicates.values()],",
    ),
    changes: serializable,
  },
  {
    name: "no-write-set",
    breaks: "a snapshot request checks nothing: the first committer does not win",
    patches: patch(
      "engine/commit.ts",
      "hashes: written.map(({ hashes }) => hashes.key),",
      "hashes: [],",
    ),
    changes: snapshot,
  },
  {
    name: "no-predicates",
    breaks: "a serializable request checks keys only: phantoms",
    patches: patch(
      "engine/commit.ts",
      "hashes: [...keys.keys(), ...predicates.keys()],\n    reads: [...keys.values(), ...predicates.values()],",
      "hashes: [...keys.keys()],\n    reads: [...keys.values()],",
    ),
    changes: { ...serializable, workload: "phantom" },
  },
  {
    name: "no-local-check",
    breaks: "what was committed between reading and sending is not looked at",
    patches: patch(
      "engine/commit.ts",
      "if (conflict !== undefined) throw ",
      "if (conflict !== undefined && tail.newest < 0) throw ",
    ),
    changes: serializable,
  },
  {
    name: "no-local-check-of-snapshot",
    breaks: "the same under snapshot isolation",
    patches: patch(
      "engine/commit.ts",
      "if (timestamp === undefined || timestamp <= ",
      "if (timestamp === undefined || timestamp > 0 || timestamp <= ",
    ),
    changes: snapshot,
  },
  {
    name: "resend-without-check",
    breaks: "a request is sent again with a later checkedTo that nobody has checked",
    patches: patch(
      "engine/request-settler.ts",
      "checkedTo: options.recheck() }",
      "checkedTo: session.follower.tail.newest }",
    ),
    changes: {
      isolation: "serializable",
      faults: { "answer-lost": 0.05, "put-records-in-part": 0.3 },
    },
  },
  {
    name: "unknown-taken-for-aborted",
    breaks: "a commit whose outcome is open is reported as not done",
    patches: patch(
      "engine/request-settler.ts",
      'throw new CommitUnknownError(\n      `no decision on transaction ${id} was seen in time; outcome("${id}") settles it`,\n      id,\n      { cause: asError(options.signal.reason) },\n    );',
      "throw new UnavailableError(id, { cause: asError(options.signal.reason) });",
    ),
  },
  {
    name: "unknown-put-taken-for-throttled",
    breaks: "a record that may be in the stream counts as not sent",
    patches: patch(
      "aws/kinesis-commit-stream.ts",
      'fault === "throttled" ? { kind: "throttled" } : { kind: "unknown", cause },',
      'fault === "throttled" ? { kind: "throttled" } : { kind: "throttled" },',
    ),
    changes: {
      hurried: 0.6,
      oracleConsumer: "standard",
      faults: { "service-error-after-effect": 0.6 },
    },
  },
  {
    name: "extends-over-conflicts",
    breaks: "the read timestamp moves although something read was overwritten: torn reads",
    patches: patch(
      "core/transaction-reads.ts",
      "if (conflict !== undefined) return conflict;\n    this.advance(tail.newest);",
      "if (conflict !== undefined && this.keys.size > 99) return conflict;\n    this.advance(tail.newest);",
    ),
  },
  {
    name: "pending-writes-ignored",
    breaks: "a committed write that is not installed yet is not waited for: stale reads",
    patches: patch(
      "engine/read-view.ts",
      'return commit === undefined ? { kind: "visible" } : { kind: "missing", commit };',
      'return commit === undefined ? { kind: "visible" } : { kind: "visible" };',
    ),
  },
  {
    name: "old-answers-trusted",
    breaks:
      "an answer from before an install that the tail has forgotten counts as new: stale reads",
    patches: patch("engine/read-view.ts", "if (captured < tail.floor && ", "if (captured < 0 && "),
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
    patches: patch(
      "engine/read-view.ts",
      "if (ageMs <= limits.transactionAgeMsMax) return;",
      "if (ageMs > 0 || ageMs <= 0) return;",
    ),
    changes: { workload: "reinsert" },
  },
  {
    name: "no-refresh-at-begin",
    breaks: "a transaction begins with what its process happens to know: not strict",
    patches: patch(
      "engine/read-view.ts",
      "await orAborted(this.#options.refreshed, this.#options.call.signal);",
      "if (!this.#session.follower.started) await orAborted(this.#options.refreshed, this.#options.call.signal);",
    ),
  },
  {
    name: "late-helpers-fail-their-reader",
    breaks: "who comes too late to install for another gets the blame",
    patches: [
      ...patch("core/errors.ts", 'super("throttled", "the time', 'super("rejected", "the time'),
      ...patch(
        "engine/shard-session.ts",
        "if (!(error instanceof LateInstallError) || tries >= finishTriesMax) throw error;",
        "if (!(error instanceof LateInstallError) || tries >= 1) throw error;",
      ),
    ],
    changes: { faults: { "freeze-at-call": 0.02, "crash-after-call": 0.01, throttled: 0.02 } },
  },
  {
    name: "first-page-only",
    breaks: "a page of a query does not enter its predicate into the read set",
    patches: patch(
      "engine/range-reads.ts",
      "view.reads.addPredicate(source.hash, source.predicate, step);",
      "if (step.page === 'never') view.reads.addPredicate(source.hash, source.predicate, step);",
    ),
    changes: { ...serializable, workload: "phantom" },
  },
];

/** The oracle and its log. */
const oracles: readonly Mutant[] = [
  {
    name: "certifies-without-checks",
    breaks: "the oracle finds no conflict ever",
    patches: patch(
      "core/oracle.ts",
      "if (found <= checkedTo) continue;",
      "if (found >= 0) continue;",
    ),
  },
  {
    name: "checks-off-by-a-little",
    breaks: "conflicts within 20 ms of what the client has checked are overlooked",
    patches: patch(
      "core/oracle.ts",
      "if (found <= checkedTo) continue;",
      "if (found <= checkedTo + 20_000) continue;",
    ),
  },
  {
    name: "certifies-beyond-its-memory",
    breaks: "a request from below the floor is certified against an index that forgot",
    patches: patch(
      "core/oracle.ts",
      "if (checkedTo < this.#decided.floor) {",
      "if (checkedTo < 0) {",
    ),
    changes: { faults: { "consumer-pause": 0.1, "request-late": 0.01, "answer-lost": 0.03 } },
  },
  {
    name: "rebuilds-from-nothing",
    breaks: "a cold oracle does not read the log's end",
    patches: patch(
      "functions/oracle/rebuild.ts",
      "oracle.fold(decodeLogBlock(bytes, position));",
      "oracle.fold({ ...decodeLogBlock(bytes, position), verdicts: [] });",
    ),
  },
  {
    name: "decides-ids-twice",
    breaks: "a redelivered or repeated request is certified again",
    patches: patch(
      "core/oracle.ts",
      "if (this.#decided.has(requests.ids, request * idWords)) {",
      "if (this.#decided.has(requests.ids, request * idWords) && requests.count < 0) {",
    ),
  },
  {
    name: "partitions-not-entered",
    breaks: "writes do not count for their partition: queries are not protected",
    patches: patch(
      "core/oracle.ts",
      "if (partitionHigh !== keyHigh || partitionLow !== keyLow) {",
      "if (partitionHigh === keyHigh && partitionLow !== keyLow) {",
    ),
    changes: { ...serializable, workload: "phantom" },
  },
  {
    name: "block-put-without-condition",
    breaks: "two oracles append to one position: a block is overwritten",
    patches: patch(
      "aws/dynamodb-commit-log.ts",
      'ConditionExpression: "attribute_not_exists(#position)",\n          ExpressionAttributeNames: { "#position": "position" },',
      "",
    ),
  },
  {
    name: "acknowledged-before-the-block",
    breaks: "a put that may have failed counts as done",
    patches: patch(
      "functions/oracle/service.ts",
      "const result = await log.append(shard, { position, bytes }, this.#callOptions());",
      'const result = await log.append(shard, { position, bytes }, this.#callOptions()).catch(() => "appended" as const);',
    ),
  },
  {
    name: "taken-means-mine",
    breaks: "a position that another oracle has taken counts as appended",
    patches: patch(
      "functions/oracle/service.ts",
      'if (result === "taken") {',
      'if (result === "taken" && shard === "") {',
    ),
  },
  {
    name: "probe-without-abort",
    breaks: "the oracle answers a probe and forgets it: what was settled as aborted commits",
    patches: patch(
      "core/oracle.ts",
      "this.#remember(requests, request, timestamp, committed);\n    return true;",
      "if (outcome !== outcomeCode.probed) this.#remember(requests, request, timestamp, committed);\n    else this.#last = timestamp;\n    return true;",
    ),
    changes: { hurried: 0.6, faults: { "request-late": 0.1 } },
  },
];

/** Installing, replay and the reaper. */
const installs: readonly Mutant[] = [
  {
    name: "watermark-before-installs",
    breaks: "the watermark vouches for what is not installed",
    patches: patch(
      "functions/replay/service.ts",
      "const installed = await installer.install(plan);",
      "await control.advanceWatermark(shard, reached);\n    const installed = await installer.install(plan);",
    ),
  },
  {
    name: "installed-said-too-early",
    breaks: "a client tells replay that it has installed what it is about to install",
    patches: patch(
      "engine/chaining/commit-group.ts",
      "const nowMs = ports.clock.nowMs();",
      "session.sender.reportInstalled(commitTimestamp);\n    const nowMs = ports.clock.nowMs();",
    ),
    changes: { faults: { "crash-after-call": 0.003 } },
  },
  {
    name: "replay-skips-a-write",
    breaks: "replay leaves out the last write of what it installs",
    patches: patch(
      "functions/replay/chunk-installer.ts",
      "const missing = await this.#missing(plan.latest);",
      "const missing = (await this.#missing(plan.latest)).slice(1);",
    ),
    changes: { history: false, faults: { "crash-after-call": 0.003 } },
  },
  {
    name: "install-without-condition",
    breaks: "a late install overwrites a newer version",
    patches: patch(
      "aws/dynamodb-item-store.ts",
      'ConditionExpression: "attribute_not_exists(#version) OR #version < :version",',
      'ConditionExpression: "attribute_not_exists(#version) OR #version <> :version",',
    ),
    changes: { history: false },
  },
  {
    name: "delete-leaves-no-tombstone",
    breaks: "a reader takes a tombstone for an item of nothing but its key",
    patches: patch(
      "aws/stored-item.ts",
      'return value !== undefined && "BOOL" in value && value.BOOL;',
      'return value !== undefined && "N" in value;',
    ),
    changes: { workload: "reinsert" },
  },
  {
    name: "reaper-without-grace",
    breaks: "tombstones go at once: a late install brings the item back",
    patches: patch(
      "functions/reaper/service.ts",
      "if (observedMs <= nowMs - graceMs && timestamp > passed) passed = timestamp;",
      "if (observedMs <= nowMs && graceMs > 0 && timestamp > passed) passed = timestamp;",
    ),
    changes: { workload: "reinsert", history: false, faults: { "request-late": 0.02 } },
  },
  {
    name: "reaper-removes-whatever-stands",
    breaks: "the reaper removes an item that was put again",
    patches: patch(
      "aws/dynamodb-item-store.ts",
      'ConditionExpression: "#tombstone = :true AND #version = :version",',
      'ConditionExpression: "NOT (#tombstone = :true AND #version <> :version) OR #version <> :version",',
    ),
    changes: { workload: "reinsert" },
  },
  {
    name: "history-claims-too-much",
    breaks: "an entry of the version store has a wrong end",
    patches: patch(
      "engine/installer.ts",
      "key, version: stored.version, next: version, item: stored.item },",
      "key, version: stored.version, next: (version + 1e12) as Timestamp, item: stored.item },",
    ),
    // It shows where the entry that would tell better is gone: after a tombstone, if TTL is late.
    changes: { ...snapshot, workload: "reinsert", history: true, faults: { "ttl-late": 0.95 } },
  },
  {
    name: "history-out-of-order",
    breaks: "installs on a table with history do not wait for earlier ones",
    patches: patch(
      "engine/installer.ts",
      "if (missing !== undefined) {\n      // probe",
      "if (missing !== undefined && indexIsNever(index)) {\n      // probe",
    ).concat(
      patch(
        "engine/installer.ts",
        "const orderedTriesMax = 12;",
        "const orderedTriesMax = 12;\nconst indexIsNever = (index: number): boolean => index < 0;",
      ),
    ),
    changes: { workload: "mixed-levels", history: true },
  },
  {
    name: "batch-rest-forgotten",
    breaks: "keys that a batch read hands back unread count as absent",
    patches: patch(
      "aws/dynamodb-batch-get.ts",
      "if (leftCount === 0) return;",
      "if (leftCount >= 0) return;",
    ),
    changes: { faults: { "part-unprocessed": 0.5 } },
  },
  {
    name: "effect-without-entry",
    breaks: "a transaction under an idempotency key does not record that it was done",
    patches: [
      ...patch(
        "engine/idempotency.ts",
        "context.putInto(table, itemOf({ transactionId: id, place: 0 }));",
        "if (nowMs < 0) context.putInto(table, itemOf({ transactionId: id, place: 0 }));",
      ),
      ...patch(
        "engine/idempotency.ts",
        "context.writes.set(table, key, itemOf(name));",
        "if (nowMs < 0) context.writes.set(table, key, itemOf(name));",
      ),
    ],
    changes: { workload: "idempotency" },
  },
  {
    name: "entry-of-an-unknown-id",
    breaks: "a repeat under an idempotency key names a transaction that the log never saw",
    patches: patch(
      "engine/idempotency.ts",
      "context.writes.set(table, key, itemOf(name));",
      "if (nowMs < 0) context.writes.set(table, key, itemOf(name));",
    ),
    changes: { workload: "idempotency" },
  },
  {
    name: "install-signed-late",
    breaks: "a frozen installer wakes up and brings back what the reaper has removed",
    patches: patch(
      "aws/call.ts",
      "if (deadline !== undefined && deadline.clock.nowMs() >= deadline.beforeMs) {",
      "if (deadline !== undefined && deadline.clock.nowMs() < 0) {",
    ),
    changes: {
      workload: "reinsert",
      history: false,
      faults: { "freeze-at-call": 0.02, "throttling-storm": 0.05, throttled: 0.05 },
    },
  },
];

export const mutants: readonly Mutant[] = [...clients, ...oracles, ...installs, ...chains];
