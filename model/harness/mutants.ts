/** Deliberate mistakes that the model knows, where each is looked for, and what must find it. */
export type ModelMutant = {
  readonly name: string;
  /** Configuration of model/ in whose state space the mistake shows. */
  readonly config: string;
  /** Any of these: the checker stops at the first one that it meets. */
  readonly violates: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
  /** The one invariant to check, where another one would be violated first. */
  readonly only?: string;
};

/** A write that is lost shows in the store, or only in what the store should show. */
const lost = ["StoreIsTrue", "NothingLost"];

/** A transaction lies on both sides of another one, which may show in one item already. */
const outOfOrder = ["StrictlySerializable", "ItemOrder"];

/** A version that carries what an open BASE transaction has done. */
const seesOpen = ["NoneSeesOpen"];

/** A BASE transaction lies on both sides of an ACID one. */
const twoWays = ["OneWay"];

/** Of many shards (TidemarkShards.tla). */
const shardsMutants: readonly ModelMutant[] = [
  { name: "parts-read-without-barring", config: "shards-crossing", violates: outOfOrder },
  { name: "parts-write-without-barring", config: "shards-crossing", violates: outOfOrder },
  { name: "parts-released-early", config: "shards-crossing", violates: outOfOrder },
  { name: "outcome-from-one-log", config: "shards-crossing", violates: ["Atomic"] },
  { name: "no-final-refresh", config: "shards-crossing", violates: outOfOrder },
  { name: "reads-what-its-log-shows", config: "shards-crossing", violates: outOfOrder },
  { name: "aborts-what-is-prepared", config: "shards-crossing", violates: ["Atomic"] },
  { name: "prepares-what-is-refused", config: "shards-crossing", violates: ["Atomic"] },
  { name: "counts-where-placed", config: "shards-past", violates: outOfOrder },
  { name: "known-below", config: "shards-past", violates: ["ItemOrder"] },
  { name: "as-of-ignores-open", config: "shards-past", violates: outOfOrder },
  { name: "as-of-above-the-log", config: "shards-past", violates: outOfOrder },
  { name: "map-without-epoch", config: "shards-join", violates: ["NothingLost"] },
  { name: "fork-forgets-window", config: "shards-join", violates: outOfOrder },
  { name: "fork-forgets-open", config: "shards-join-parts", violates: outOfOrder },
  { name: "reads-by-old-map", config: "shards-join", violates: outOfOrder },
  { name: "join-keeps-old-checks", config: "shards-join-parts", violates: outOfOrder },
  { name: "ends-with-open", config: "shards-join-parts", violates: outOfOrder },
  { name: "reads-after-end", config: "shards-join", violates: outOfOrder },
  { name: "join-below", config: "shards-join", violates: ["ItemOrder"] },
  { name: "votes-for-some-parts", config: "shards-votes", violates: ["NothingLost", "Atomic"] },
  { name: "vote-below", config: "shards-votes", violates: ["ItemOrder"] },
  { name: "last-vote-for-parts", config: "shards-votes", violates: ["Atomic"] },
];

/** Of native operations beside transactions (TidemarkNative.tla). */
const nativeMutants: readonly ModelMutant[] = [
  { name: "verify-first", config: "native-crossing", violates: ["OneOrder"] },
  { name: "reads-around", config: "native-crossing", violates: ["OneOrder"] },
  { name: "reads-do-not-bar", config: "native-crossing", violates: ["I4"] },
  { name: "writes-do-not-bar", config: "native-crossing", violates: ["I4"] },
  { name: "outcome-counts-at-prepared", config: "native-crossing", violates: ["OneOrder"] },
  { name: "votes-unchecked", config: "native-crossing", violates: ["OneOrder"] },
  { name: "read-only-unchecked", config: "native-crossing", violates: ["OneOrder"] },
  { name: "read-only-does-not-settle", config: "native-crossing", violates: ["OneOrder"] },
  { name: "last-vote-counts", config: "native-one-item", violates: lost },
  { name: "no-placeholder", config: "native-one-item", violates: lost },
  { name: "votes-identity-read", config: "native-one-item", violates: lost },
  { name: "installs-early", config: "native-one-item", violates: ["StoreIsTrue"] },
  { name: "installs-anyway", config: "native-one-item", violates: lost },
  { name: "installs-by-fence", config: "native-fences", violates: lost },
  { name: "installs-by-identity", config: "native-one-item", violates: lost },
  { name: "fence-nonce-again", config: "native-fences", violates: lost },
  { name: "update-over-fence", config: "native-one-item", violates: lost },
  { name: "plain-update-in-gap", config: "native-one-item", violates: lost },
  { name: "cleans-open-fence", config: "native-one-item", violates: lost },
  {
    name: "acknowledges-early",
    config: "native-sessions",
    violates: ["ItemOrder"],
    only: "ItemOrder",
  },
  { name: "any-fence-bars", config: "native-liveness", violates: ["a temporal property"] },
  { name: "nobody-votes-down", config: "native-liveness", violates: ["a temporal property"] },
  { name: "rechecks-beside-fences", config: "native-real-time", violates: ["OneOrder"] },
  { name: "read-only-over-fence", config: "native-real-time", violates: ["OneOrder"] },
  { name: "local-blind-over-fence", config: "native-real-time", violates: ["OneOrder"] },
  { name: "fences-before-all-are-placed", config: "native-logs", violates: ["OneOrder"] },
  { name: "enters-what-is-open", config: "native-logs", violates: ["Agree"] },
  { name: "enters-without-stamps", config: "native-logs", violates: lost },
  { name: "read-only-looks-at-one-log", config: "native-logs", violates: ["OneOrder"] },
  { name: "local-over-fence", config: "native-local", violates: lost },
  { name: "local-by-identity", config: "native-local", violates: lost },
  { name: "local-on-bare", config: "native-local", violates: lost },
];

/** Of BASE transactions (TidemarkBase.tla). */
const baseMutants: readonly ModelMutant[] = [
  { name: "no-dependencies", config: "base-chains", violates: seesOpen, only: "NoneSeesOpen" },
  { name: "needs-only-direct", config: "base-chains", violates: seesOpen, only: "NoneSeesOpen" },
  { name: "needs-only-direct", config: "base-chains", violates: ["EndsFirst"], only: "EndsFirst" },
  { name: "holds-newest-step", config: "base-readers", violates: seesOpen, only: "NoneSeesOpen" },
  {
    name: "failed-step-leaves-nothing",
    config: "base-chains",
    violates: seesOpen,
    only: "NoneSeesOpen",
  },
  { name: "overwrites-without-depending", config: "base-readers", violates: ["ReadsHold"] },
  {
    name: "overwrites-without-depending",
    config: "base-readers",
    violates: twoWays,
    only: "OneWay",
  },
  {
    name: "overwrites-without-depending",
    config: "base-writers",
    violates: ["AcidInOrder"],
    only: "AcidInOrder",
  },
  { name: "hides-newest-version", config: "base-readers", violates: seesOpen },
  { name: "hides-newest-transaction", config: "base-readers", violates: seesOpen },
  { name: "first-write-forgotten", config: "base-readers", violates: seesOpen },
  { name: "open-judged-now", config: "base-readers", violates: seesOpen },
  { name: "open-judged-now", config: "base-past", violates: ["ReadsHold"], only: "ReadsHold" },
  { name: "reads-open-writes", config: "base-waiting", violates: seesOpen },
  { name: "extends-unchecked", config: "base-waiting", violates: ["ReadsHold"] },
  {
    name: "extends-unchecked",
    config: "base-waiting",
    violates: ["AcidStrict"],
    only: "AcidStrict",
  },
  { name: "told-at-the-end", config: "base-chains", violates: twoWays, only: "OneWay" },
  { name: "reads-what-is-open", config: "base-beside", violates: ["StepsInOrder"] },
  {
    name: "overwrites-what-is-open",
    config: "base-writers",
    violates: ["AcidInOrder"],
    only: "AcidInOrder",
  },
  {
    name: "overwrites-what-open-has-read",
    config: "base-writers",
    violates: twoWays,
    only: "OneWay",
  },
  { name: "release-enters-nothing", config: "base-writers", violates: ["ReadsHold"] },
  { name: "release-enters-nothing", config: "base-writers", violates: twoWays, only: "OneWay" },
  { name: "step-without-record", config: "base-steps", violates: ["StepsOnce"] },
  { name: "steps-unchecked", config: "base-steps", violates: ["StepsInOrder"] },
  { name: "cycle-waits-for-itself", config: "base-liveness", violates: ["a temporal property"] },
  {
    name: "reservation-bars-later-steps",
    config: "base-liveness",
    violates: ["a temporal property"],
  },
];

const quick = { Copies: "0", Crashes: "0" };

export const modelMutants: readonly ModelMutant[] = [
  { name: "put-unconditional", config: "commit", violates: ["I1"], settings: quick },
  { name: "taken-appends-on", config: "commit", violates: ["I2"], settings: quick },
  { name: "no-decided-ids", config: "commit", violates: ["I3"] },
  { name: "no-stale", config: "commit", violates: ["I3", "I4"], settings: { Window: "1" } },
  { name: "resend-blindly", config: "resend", violates: ["I3"], settings: { Window: "1" } },
  { name: "unknown-is-aborted", config: "commit", violates: ["I3"] },
  { name: "no-checks", config: "commit", violates: ["I4", "I5"], settings: quick },
  { name: "no-checks", config: "commit", violates: ["I5"], settings: quick, only: "I5" },
  { name: "check-off-by-one", config: "commit", violates: ["I4", "I5"], settings: quick },
  { name: "no-local-check", config: "commit", violates: ["I4", "I5"], settings: quick },
  { name: "install-unconditional", config: "install", violates: ["I6"], settings: quick },
  { name: "reap-before-installers", config: "install", violates: ["I6"], settings: quick },
  { name: "reap-before-readers", config: "install", violates: ["I8"], settings: quick },
  { name: "watermark-ahead", config: "install", violates: ["I7"], settings: quick },
  { name: "watermark-first", config: "install", violates: ["I7"], settings: quick },
  { name: "watermark-backward", config: "install", violates: ["MarkRises"], settings: quick },
  { name: "reads-ignore-tail", config: "commit", violates: ["I8"], settings: quick },
  { name: "extend-unchecked", config: "commit", violates: ["I8"], settings: quick },
  { name: "acknowledge-before-block", config: "commit", violates: ["I9"], settings: quick },
  { name: "express-put-unconditional", config: "express", violates: ["I1"] },
  { name: "express-guesses-position", config: "express", violates: ["I2"] },
  { name: "express-clock-alone", config: "express", violates: ["I2"] },
  { name: "express-again-blindly", config: "express", violates: ["I3"] },
  {
    name: "resend-blindly",
    config: "express",
    violates: ["I3"],
    settings: { Resends: "1", Window: "1" },
  },
  { name: "express-lost-is-refused", config: "express", violates: ["I3"] },
  { name: "express-stale-tail", config: "express", violates: ["I4", "I5"] },
  { name: "express-moves-cursor", config: "express", violates: ["NothingPassed"] },
  { name: "express-probe-blindly", config: "express-tables", violates: ["I3"] },
  { name: "unknown-is-aborted", config: "express-tables", violates: ["I3"] },
  { name: "watermark-first", config: "express-tables", violates: ["I7"] },
  { name: "express-reports-early", config: "express-tables", violates: ["I7"] },
  { name: "closing-keeps-cursor", config: "closing", violates: ["I3", "NothingLost"] },
  { name: "closing-believed-early", config: "closing", violates: ["I3"] },
  { name: "closing-forgets-blocks", config: "closing", violates: ["I3"] },
  { name: "opening-keeps-floor", config: "closing", violates: ["I3"] },
  { name: "opening-decides-nothing", config: "closing", violates: ["I3"] },
  { name: "opening-passes-records", config: "closing", violates: ["NonePassed"] },
  { name: "taken-away-undrained", config: "closing", violates: ["NothingLost"] },
  ...nativeMutants,
  ...shardsMutants,
  ...baseMutants,
];
