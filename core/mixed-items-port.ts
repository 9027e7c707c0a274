/**
 * Single items of mixed tables, as transactions need them: a part of core/ports.ts. Each method is
 * one call, on conditions that docs/adr/0014-native-operations.md gives (Fence, Vote and install,
 * Local commit). Errors as in core/ports.ts.
 */
import type { KeyNames } from "./attributes.ts";
import type { Identity } from "./item-identity.ts";
import type { CallOptions, QueryRequest, ScanRequest } from "./store-calls.ts";
import type { Item, Stamp, TransactionId, Version } from "./types.ts";

export type ItemAddress = { readonly table: KeyNames; readonly key: Item };

export type MixedCallOptions = CallOptions & {
  /** Wall clock, after which the call must not be signed any more: then `LateSignatureError`. */
  readonly signBeforeMs?: number;
};

/** What a call came to that is made once: each attempt has a nonce of its own. */
export type Attempted =
  /** `old`: what an update found, reserved attributes included; undefined: nothing. */
  | { readonly kind: "done"; readonly old: Item | undefined }
  /** The condition does not hold. What stood there, or stands there soon after. */
  | { readonly kind: "refused"; readonly shown: Item | undefined }
  /** It may have happened, and may still happen for as long as a signature lives. */
  | { readonly kind: "unknown"; readonly cause: unknown };

/** `over`: a fence that bars nothing, and is replaced if it stands there. */
type Over = { readonly over?: TransactionId | undefined };

/** A state of an item: that one, or any that has an identity of its own, which the answer shows. */
export type FencedState = Identity | { readonly kind: "identified" };

export type FenceRequest = ItemAddress &
  Over & {
    readonly id: TransactionId;
    readonly expects: FencedState;
    /** For an item that has no identity of its own. */
    readonly nonce: Uint8Array;
  };

export type StampedInstall = ItemAddress & {
  /** Whose fence has to stand there. */
  readonly id: TransactionId;
  /** The whole item; undefined deletes. */
  readonly item: Item | undefined;
  readonly version: Version;
  /** What it replaces. */
  readonly stamp: Stamp;
  /** A delete leaves one: the table is on its way (core/table-access.ts). */
  readonly leavesTombstone?: boolean;
};

export type CleanUpRequest = ItemAddress & {
  readonly id: TransactionId;
  /**
   * `mark`: fence and mark go, the item stays. `item`: the whole placeholder goes.
   * `tombstone-fence`: the fence goes, the tombstone of a table on its way stays.
   */
  readonly removes: "fence" | "mark" | "item" | "tombstone-fence";
};

/** Gives an item that has none, or another one, a nonce that its writer knows. */
export type StampRequest = ItemAddress &
  Over & { readonly expects: Exclude<Identity, { kind: "absent" }>; readonly nonce: Uint8Array };

/** What a local write relies on; undefined: on nothing but that no fence bars. */
export type LocalCondition = {
  readonly expects: Exclude<Identity, { kind: "bare" }>;
  /** Each of these attributes has this value; key attributes are not among them. */
  readonly content: Item | undefined;
};

export type LocalChange =
  | { readonly kind: "put"; readonly item: Item }
  | { readonly kind: "delete" }
  /** Of an item that is there. The attributes that are set and not in `content` are not there. */
  | { readonly kind: "update"; readonly set: Item; readonly remove: readonly string[] };

export type LocalWrite = ItemAddress &
  Over & {
    readonly change: LocalChange;
    readonly condition: LocalCondition | undefined;
    /** Of what is put or set. */
    readonly nonce: Uint8Array;
  };

/** Items as stored, reserved attributes and placeholders included, in the store's order. */
export type MixedPage = { readonly rows: readonly Item[]; readonly lastKey: Item | undefined };

export type MixedItemStore = {
  /** As stored, strongly consistent. */
  read(address: ItemAddress, options?: CallOptions): Promise<Item | undefined>;
  /** The same of any number of items, in input order. */
  readAll(
    addresses: readonly ItemAddress[],
    options?: CallOptions,
  ): Promise<readonly (Item | undefined)[]>;
  /** Strongly consistent, of the table itself. */
  query(request: Omit<QueryRequest, "index">, options?: CallOptions): Promise<MixedPage>;
  scan(request: ScanRequest, options?: CallOptions): Promise<MixedPage>;
  /** Made once: a copy that comes late makes an identity that nobody votes. */
  fence(request: FenceRequest, options?: MixedCallOptions): Promise<Attempted>;
  /** `superseded` also where it is installed already. Safe to repeat. */
  install(request: StampedInstall, options?: MixedCallOptions): Promise<"installed" | "superseded">;
  /** Safe to repeat. */
  cleanUp(request: CleanUpRequest, options?: MixedCallOptions): Promise<"cleaned" | "kept">;
  /** Made once. */
  stamp(request: StampRequest, options?: MixedCallOptions): Promise<Attempted>;
  /** Made once. */
  writeLocally(request: LocalWrite, options?: MixedCallOptions): Promise<Attempted>;
};
