/**
 * What the plugin for native operations (native/) asks of a client of Tidemark. By a symbol of the
 * whole process, since an application may have loaded the package twice, as ES modules and as
 * CommonJS.
 */
import type { KeyNames } from "./attributes.ts";
import type { Item, TableMove } from "./types.ts";

/** A mixed table; or one on its way there or back, which is read natively and not written. */
export type NativeTable = KeyNames & { readonly move?: TableMove };

/** What stands in a native write's way is found at. */
export type NativeAddress = { readonly table: string; readonly key: Item };

export type FenceClearing = {
  /**
   * Brings about the outcome of the transaction whose fence stands on the item, and installs it
   * there or cleans up. A transaction that is about to vote has a while for it.
   * @returns whether a fence stood there.
   */
  clearFence(at: NativeAddress): Promise<boolean>;
};

export type NativeSupport = FenceClearing & {
  /** The deployment's mixed tables, as of at most some seconds ago. */
  mixedTables(): Promise<readonly NativeTable[]>;
};

/** Under which a client of Tidemark has its `NativeSupport`. */
export const nativeSupport: unique symbol = Symbol.for("tidemark.native-support");
