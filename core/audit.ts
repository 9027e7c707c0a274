/**
 * Whether whoever wrote an item of a mixed table knows of transactions there, told from what a
 * write has changed (docs/adr/0014-native-operations.md, Items and Aware native writes). An aware
 * write brings a nonce that was not there, or only takes something away, which is safe from anybody
 * where no fence stands; fences, installs and clean-ups of transactions change reserved attributes
 * as nobody else does. All else is unaware. It names attributes and holds no
 * values: what it says may stand in a log.
 */
import {
  attribute,
  fenceAttribute,
  isContent,
  type KeyPair,
  markAttribute,
  nonceAttribute,
  versionAttribute,
} from "./attributes.ts";
import { isWhatIsLeft, sameValue } from "./item-content.ts";
import * as limits from "./limits.ts";
import type { AttributeValue, Item } from "./types.ts";

/** What stood there before and after; undefined: nothing. */
export type ItemChange = { readonly before: Item | undefined; readonly after: Item | undefined };

export type Audit =
  | { readonly kind: "aware" }
  /** A delete adds nothing, whoever makes it: nothing tells. It is safe from anybody. */
  | { readonly kind: "delete" }
  | Unaware;

export type Unaware = {
  readonly kind: "unaware";
  /**
   * `put`: an item without identity, where there was another one, or none. Safe, unless it has a
   * condition. `update`: over an identity that stays; it may be lost between fence and install.
   * `reserved`: no attribute of the application has changed, but reserved ones as nobody may.
   */
  readonly write: "put" | "update" | "reserved";
  /** A transaction's fence stood there, and stands: its install may overwrite the write. */
  readonly isUnderFence: boolean;
  /** Of the application, that have changed, by name, sorted. */
  readonly attributes: readonly string[];
};

const aware: Audit = { kind: "aware" };

export function audit({ before, after }: ItemChange, keys: KeyPair): Audit {
  if (after === undefined) return { kind: "delete" };
  const changed = changedNames(before, after);
  const attributes = changed.filter((name) => isContent(name, keys));
  const has = (name: string): boolean => attribute(after, name) !== undefined;
  const changes = (name: string): boolean => changed.includes(name);
  // A fence comes by itself: this one was read with the item, and put back.
  if (attributes.length > 0 && changes(fenceAttribute) && has(fenceAttribute)) {
    return { kind: "unaware", write: "put", isUnderFence: true, attributes };
  }
  // Of an aware write, a local commit, a stamp, and a fence on what had no identity.
  if (changes(nonceAttribute) && isNonce(attribute(after, nonceAttribute))) return aware;
  if (isInstall({ changes, has })) return aware;
  const isOfFence = changed.every((name) => name === fenceAttribute || name === markAttribute);
  if (isOfFence && changes(fenceAttribute)) return aware;
  const isUnderFence = has(fenceAttribute) && !changes(fenceAttribute);
  const keepsIdentity = !changes(nonceAttribute) && !changes(versionAttribute);
  const isBare = !has(nonceAttribute) && !has(versionAttribute);
  const wasThere = before !== undefined;
  if (isBare && !(wasThere && keepsIdentity)) {
    return { kind: "unaware", write: "put", isUnderFence, attributes };
  }
  const isSafe = wasThere && !isUnderFence && changed.length === attributes.length;
  if (isSafe && isWhatIsLeft({ M: after }, { M: before })) return aware;
  const write = attributes.length > 0 ? "update" : "reserved";
  return { kind: "unaware", write, isUnderFence, attributes };
}

function isNonce(value: AttributeValue | undefined): boolean {
  return value !== undefined && "B" in value && value.B.length === limits.nonceBytes;
}

/** It brings a version, and takes nonce and fence away. */
function isInstall(now: {
  readonly changes: (name: string) => boolean;
  readonly has: (name: string) => boolean;
}): boolean {
  return (
    now.changes(versionAttribute) &&
    now.has(versionAttribute) &&
    !now.has(nonceAttribute) &&
    !now.has(fenceAttribute)
  );
}

function changedNames(before: Item | undefined, after: Item): readonly string[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after)]);
  return [...names]
    .filter((name) => {
      const [old, now] = [before && attribute(before, name), attribute(after, name)];
      return old === undefined || now === undefined ? true : !sameValue(old, now);
    })
    .sort();
}
