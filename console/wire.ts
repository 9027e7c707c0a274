/**
 * What the console's server and its page say to each other. Timestamps are microseconds since the
 * epoch, spans and ages milliseconds, hashes hexadecimal. Types only: both sides are built apart.
 */

/** An item in DynamoDB's own JSON: each value with its type, binary ones in base64. */
export type WireItem = Readonly<Record<string, WireValue>>;
export type WireValue = Readonly<Record<string, unknown>>;

export type Way = "express" | "stream" | "vote" | "part";
export type Level = "fine" | "unknown" | "warning" | "bad";

// --- The live stream ---------------------------------------------------------------------------

/** One second of all logs together, by the timestamps of the protocol. */
export type Second = {
  /** Seconds since the epoch. */
  readonly at: number;
  /** Transactions; one over several shards counts once, as `part`. */
  readonly express: number;
  readonly stream: number;
  readonly vote: number;
  readonly part: number;
  /** Aborted by a verdict for a conflict, and for anything else. */
  readonly conflicts: number;
  readonly otherAborts: number;
  /** Answers `stale` and `busy`: sent again, unseen by the application. */
  readonly again: number;
  /** The age of the oldest commit that replay has not vouched for; undefined: not looked at. */
  readonly lagMs?: number;
};

export type VerdictLine = {
  readonly kind: "committed" | "aborted" | "prepared" | "stale" | "busy";
  readonly id: string;
  readonly way?: Way;
  /** Why it was aborted, who was in the way, of how many shards it is a part. */
  readonly detail?: string;
  readonly tables: readonly { readonly name: string; readonly writes: number }[];
  /** The first of its writes, where the block itself carries them. */
  readonly writes?: readonly WriteLine[];
};

export type WriteLine = {
  readonly op: "put" | "delete";
  readonly table: string;
  readonly key: WireItem;
  /** Only where items were asked for. */
  readonly item?: WireItem;
};

export type BlockLine = {
  readonly shard: number;
  readonly position: number;
  readonly timestamp: number;
  /** `oracle`, a client's number, or what provisioning did. */
  readonly maker: string;
  readonly bytes: number;
  readonly verdicts: readonly VerdictLine[];
  /** Verdicts that the line leaves out. */
  readonly more: number;
  /** It does not decode: why. */
  readonly fault?: string;
};

export type ShardLine = {
  readonly number: number;
  readonly name: string;
  /** The first hash of its range, and its share of all hashes in percent. */
  readonly from: string;
  readonly share: number;
  readonly end?: { readonly position: number; readonly timestamp: number };
  readonly watermark?: { readonly position: number; readonly timestamp: number };
  readonly waiting: { readonly blocks: number; readonly oldestMs: number };
  /** In the window of `State`. */
  readonly commits: number;
  readonly blocks: number;
  readonly bytes: number;
  readonly spanMs: number;
  readonly open: number;
};

export type OpenLine = {
  readonly id: string;
  readonly since: number;
  readonly writes: number;
  readonly parts: number;
};

export type FindingLine = {
  readonly level: Level;
  readonly about: string;
  readonly shard?: number;
  readonly text: string;
  readonly remedy?: string;
};

/** How the deployment stands; what `tidemark status` says. */
export type State = {
  readonly nowMs: number;
  readonly windowMs: number;
  readonly health: "fine" | "warning" | "bad";
  readonly findings: readonly FindingLine[];
  readonly shards: readonly ShardLine[];
  /** The oldest ones first. */
  readonly open: readonly OpenLine[];
  readonly openTotal: number;
};

export type LiveEvent =
  /** All that is known, for who has just come or has missed too much. */
  | {
      readonly kind: "start";
      readonly nowMs: number;
      readonly seconds: readonly Second[];
      readonly blocks: readonly BlockLine[];
      readonly state: State | undefined;
      readonly faults: FaultState | undefined;
      readonly trouble: string | undefined;
    }
  | { readonly kind: "seconds"; readonly nowMs: number; readonly seconds: readonly Second[] }
  | { readonly kind: "blocks"; readonly blocks: readonly BlockLine[]; readonly skipped: number }
  | { readonly kind: "state"; readonly state: State }
  | { readonly kind: "faults"; readonly faults: FaultState }
  /** The deployment cannot be read just now; undefined: it can again. */
  | { readonly kind: "trouble"; readonly message: string | undefined };

// --- Asked for ---------------------------------------------------------------------------------

export type TableLine = {
  readonly name: string;
  readonly partitionKey: { readonly name: string; readonly type: string };
  readonly sortKey?: { readonly name: string; readonly type: string };
  readonly access: "transactional" | "mixed";
  /** Whether BASE transactions may use it. */
  readonly base: boolean;
  readonly history: boolean;
  /** The oldest moment that can be asked for. */
  readonly since: number;
};

export type About = {
  readonly deployment: string;
  readonly place: string;
  readonly version: string;
  readonly nowMs: number;
  readonly streamless: boolean;
  /** On this machine: what it reads costs nothing. */
  readonly isLocal: boolean;
  readonly tables: readonly TableLine[];
  readonly retentionMs: number;
  readonly shards: number;
  /** Faults can be made here: it is the embedded stack of this very process. */
  readonly canBreak: boolean;
};

export type ContendedKey = {
  readonly table: string;
  /** Undefined: only its hash is known. */
  readonly key: WireItem | undefined;
  readonly hash: string;
  readonly shard: number;
  readonly commits: number;
  /** Aborted by its writes for certain, by it or others of the winner; told to wait. */
  readonly lost: number;
  readonly lostPerhaps: number;
  readonly waited: number;
  /** Runs in vain of those that have written it: all, and of the one with the most. */
  readonly retries: { readonly known: number; readonly runs: number; readonly most: number };
  /** Who has won last, and some of those who lost to whom, newest first. */
  readonly duels: readonly { readonly winner: string; readonly loser: string }[];
};

export type Contended = {
  readonly windowMs: number;
  readonly commits: number;
  readonly conflicts: number;
  readonly waits: number;
  readonly untold: number;
  readonly keys: readonly ContendedKey[];
  readonly more: number;
  /** What the console's own clients tell, conflicts that never reach the log among it. */
  readonly traffic: readonly TrafficConflict[];
};

/** Conflicts of the console's own clients at one key. */
export type TrafficConflict = {
  readonly table: string;
  readonly key: WireItem | undefined;
  readonly conflicts: number;
  /** Found by the client itself, before anything was sent. */
  readonly early: number;
  /** How often one transfer has lost here in a row, at most: each time it ran again. */
  readonly attemptsMax: number;
  /** The newest ones: who has lost, and the version that was in the way. */
  readonly losers: readonly { readonly id: string | undefined; readonly version?: number }[];
};

export type Step = {
  /** Microseconds since the epoch; undefined: not known when. */
  readonly at?: number;
  /** Who says so: a log, its id, the tables, or the client itself. */
  readonly from: "id" | "client" | "log" | "stream" | "tables";
  readonly kind: "attempt" | "read" | "send" | "prepare" | "decide" | "install" | "end";
  readonly level: Level;
  readonly text: string;
  readonly place?: { readonly shard: number; readonly position: number };
  /** Another transaction that it is about. */
  readonly other?: string;
  readonly keys?: readonly StepKey[];
};

export type StepKey = WriteLine & {
  /** What became of the write in its table; undefined: a key that was read. */
  readonly state?: "installed" | "superseded" | "pending" | "unknown";
};

export type Story = {
  readonly id: string;
  readonly standing: "committed" | "aborted" | "open" | "undecided" | "unknown";
  readonly steps: readonly Step[];
};

export type Row = {
  readonly key: WireItem;
  readonly item: WireItem;
  /** An open BASE transaction has written it: its name and id. */
  readonly heldBy?: string;
};

export type RowsPage = {
  readonly table: TableLine;
  /** The moment that it shows. */
  readonly at: number;
  readonly rows: readonly Row[];
  readonly cursor?: string;
  /**
   * Open BASE transactions have written there. `before`: rows are as they were before those;
   * `stored`: as stored, with what their steps have written.
   */
  readonly held?: "before" | "stored";
};

export type DiffRow = {
  readonly key: WireItem;
  readonly change: "added" | "removed" | "changed";
  readonly before?: WireItem;
  readonly after?: WireItem;
};

export type DiffPage = {
  readonly table: TableLine;
  readonly from: number;
  readonly to: number;
  readonly examined: number;
  readonly rows: readonly DiffRow[];
  readonly cursor?: string;
};

export type VersionLine = {
  readonly version: number;
  readonly state: "stored" | "pending" | "kept" | "logged";
  readonly id?: string;
  readonly position?: number;
  readonly way?: Way;
  /** Undefined: nothing is known of it; null: it was deleted. */
  readonly item?: WireItem | null;
};

export type ItemPage = {
  readonly table: TableLine;
  readonly key: WireItem;
  readonly shard: number;
  readonly hash: string;
  readonly stored: "item" | "tombstone" | "placeholder" | "absent";
  readonly item?: WireItem;
  readonly version: number;
  readonly versions: readonly VersionLine[];
  readonly open: readonly { readonly id: string; readonly since: number; readonly does: string }[];
  /** Open BASE transactions that have written or read it. */
  readonly holders: readonly HolderLine[];
  readonly moreHolders: number;
  /** How far back the log was looked through; undefined: to its beginning. */
  readonly lookedTo?: number;
};

export type HolderLine = {
  readonly name: string;
  readonly id: string;
  readonly does: "wrote" | "read";
  /** Absent: its record is not to be had. */
  readonly open?: {
    readonly phase: string;
    readonly sinceMs: number;
    readonly step: number;
    readonly stepName?: string;
  };
};

export type LogPage = {
  readonly blocks: readonly BlockLine[];
  /** Where an older page would begin; undefined: there is none. */
  readonly before?: number;
};

/** A BASE transaction; `released`: all see what it has written. */
export type BaseLine = {
  readonly name: string;
  readonly id: string;
  readonly version: number;
  readonly phase:
    | "requested"
    | "running"
    | "parked"
    | "ended"
    | "released"
    | "refused"
    | "cancelled"
    | "damaged";
  readonly steps: number;
  /** 0: not known, where it is damaged. */
  readonly sinceMs: number;
  /** 0: no process has been at it, or none since it was let go on. */
  readonly lastMs: number;
  /** Before that no runner tries it again: its handler has failed. Absent: it does not rest. */
  readonly retryAtMs?: number;
  readonly failures: number;
  readonly failure?: string;
};

export type BasesPage = {
  readonly nowMs: number;
  /** Whether a table takes them at all. */
  readonly isTaken: boolean;
  readonly all: number;
  readonly parked: number;
  readonly damaged: number;
  readonly bases: readonly BaseLine[];
};

/** How much of one shard's log a consumer has not come to. */
export type ShardLagLine = {
  readonly shard: number;
  readonly behindMs: number;
  readonly behindBlocks: number;
  /** The log has let go of what follows its position. */
  readonly isExpired: boolean;
};

/** A named consumer of changes, as `tidemark feeds` has it. Moments are of the wall clock. */
export type FeedLine = {
  readonly name: string;
  readonly level: Level;
  /** How it is, in a few words. */
  readonly text: string;
  /** What to do, unless all is well. */
  readonly remedy?: string;
  /** The timestamp of its position, and all of that; absent: it has none. */
  readonly at?: number;
  readonly position?: string;
  /** Absent: nobody knows, without a position or where a log is damaged. */
  readonly behindMs?: number;
  readonly behindBlocks?: number;
  readonly isExpired?: boolean;
  readonly shards?: readonly ShardLagLine[];
  /** Who is at it, and for how long yet; absent: nobody is. */
  readonly holder?: string;
  readonly heldForMs?: number;
  readonly heardMs?: number;
  /** Absent: all, where something is told at all. */
  readonly tables?: readonly string[];
  readonly tablesMore?: number;
  /** When it has come on last. */
  readonly movedMs?: number;
  /** When an operator moved it last. */
  readonly resetMs?: number;
  /** In a row; absent: whoever was at it tells nothing. */
  readonly failures?: number;
  readonly failingSinceMs?: number;
  /** The last one, which may be long over. */
  readonly failure?: string;
  readonly failedMs?: number;
};

export type FeedsPage = {
  readonly nowMs: number;
  /** There is no right to list them. */
  readonly isDenied: boolean;
  /** There are more. */
  readonly isCut: boolean;
  /** First those that somebody has to look at; then by their names. */
  readonly feeds: readonly FeedLine[];
  readonly removed: readonly string[];
};

export type BaseStepLine = {
  readonly number: number;
  readonly name: string;
  readonly atMs: number;
  readonly locks: number;
  readonly failure?: { readonly name: string; readonly message: string };
};

export type BasePage = {
  readonly nowMs: number;
  readonly base: BaseLine;
  readonly refusal?: {
    readonly step: string | undefined;
    readonly name: string;
    readonly message: string;
  };
  readonly dependsOn: readonly string[];
  readonly steps: readonly BaseStepLine[];
};

// --- Faults ------------------------------------------------------------------------------------

export type ProcessLine = {
  readonly name: string;
  readonly state: "running" | "starting" | "frozen";
  /** How often it was killed from here. */
  readonly kills: number;
};

export type Guarantee = {
  readonly name: string;
  readonly text: string;
  readonly checks: number;
  /** 0, or the product is broken. */
  readonly violations: number;
  readonly last?: string;
};

export type FaultState = {
  readonly processes: readonly ProcessLine[];
  readonly canFreeze: boolean;
  /** Of a hundred calls to the stores so many are refused. */
  readonly throttlePercent: number;
  readonly traffic: {
    /** Why there can be none here. */
    readonly unavailable?: string;
    readonly clients: readonly { readonly number: number; readonly lives: number }[];
    readonly keys: number;
    readonly committed: number;
    readonly attempts: number;
    readonly conflicts: number;
    readonly failed: number;
    readonly unknown: number;
  };
  readonly guarantees: readonly Guarantee[];
  /** What was done here, newest first. */
  readonly deeds: readonly { readonly atMs: number; readonly text: string }[];
};

export type FaultOrder =
  | { readonly act: "traffic"; readonly clients: number; readonly keys: number }
  | { readonly act: "kill-client"; readonly how: "now" | "at-decision" }
  | { readonly act: "kill" | "freeze" | "resume"; readonly process: string }
  | { readonly act: "throttle"; readonly percent: number };

export type WireError = {
  readonly error: { readonly code: string; readonly field?: string; readonly message: string };
};
