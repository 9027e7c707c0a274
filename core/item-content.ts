/**
 * The content of an item of a mixed table: what is there for the application. Transactions compare
 * it, beside identities: it alone tells of an unaware update, which keeps the identity, and of an
 * item that had none (docs/adr/0014-native-operations.md, Fence).
 */
import { attribute, isContent, withoutReserved, type KeyPair } from "./attributes.ts";
import { canonicalNumber } from "./decimal.ts";
import { isMarked } from "./item-identity.ts";
import type { AttributeValue, Item } from "./types.ts";
import { compareBytes } from "./utf8.ts";

/** A marked item is hidden for as long as it has no attributes of the application. */
export function isHidden(item: Item, keys: KeyPair): boolean {
  return isMarked(item) && !Object.keys(item).some((name) => isContent(name, keys));
}

/** Without reserved attributes; undefined where nothing is there, or what is there is hidden. */
export function contentOf(item: Item | undefined, keys: KeyPair): Item | undefined {
  return item === undefined || isHidden(item, keys) ? undefined : withoutReserved(item);
}

export function sameContent(a: Item | undefined, b: Item | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return sameAttributes(a, b);
}

/** As DynamoDB compares: numbers by value, sets without order; types apart are never equal. */
export function sameValue(a: AttributeValue, b: AttributeValue): boolean {
  if ("S" in a) return "S" in b && a.S === b.S;
  if ("N" in a) return "N" in b && canonicalNumber(a.N) === canonicalNumber(b.N);
  if ("B" in a) return "B" in b && compareBytes(a.B, b.B) === 0;
  if ("BOOL" in a) return "BOOL" in b && a.BOOL === b.BOOL;
  if ("NULL" in a) return "NULL" in b;
  if ("SS" in a) return "SS" in b && sameMembers(a.SS, b.SS);
  if ("NS" in a) return "NS" in b && sameMembers(a.NS.map(numberText), b.NS.map(numberText));
  if ("BS" in a) return "BS" in b && sameMembers(a.BS.map(bytesText), b.BS.map(bytesText));
  if ("L" in a) return "L" in b && sameElements(a.L, b.L);
  return "M" in b && sameAttributes(a.M, b.M);
}

/** It is the other one, or what is left of it once attributes, elements or members are removed. */
export function isWhatIsLeft(now: AttributeValue, of: AttributeValue): boolean {
  if ("M" in now) {
    return "M" in of && areLeft(now.M, of.M);
  }
  if ("L" in now && "L" in of) {
    // Each is found as early as can be, so as much as can be is there for those behind it.
    let at = 0;
    return now.L.every((element) => {
      while (at < of.L.length) {
        const other = of.L[at];
        at += 1;
        if (other !== undefined && isWhatIsLeft(element, other)) return true;
      }
      return false;
    });
  }
  if ("SS" in now && "SS" in of) return areAmong(now.SS, of.SS);
  if ("NS" in now && "NS" in of) return areAmong(now.NS.map(numberText), of.NS.map(numberText));
  if ("BS" in now && "BS" in of) return areAmong(now.BS.map(bytesText), of.BS.map(bytesText));
  return sameValue(now, of);
}

function areLeft(now: Item, of: Item): boolean {
  return Object.entries(now).every(([name, value]) => {
    const old = attribute(of, name);
    return old !== undefined && isWhatIsLeft(value, old);
  });
}

function areAmong(members: readonly string[], all: readonly string[]): boolean {
  const among = new Set(all);
  return members.every((member) => among.has(member));
}

function sameAttributes(a: Item, b: Item): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => {
    const [left, right] = [attribute(a, name), attribute(b, name)];
    return left !== undefined && right !== undefined && sameValue(left, right);
  });
}

function sameElements(a: readonly AttributeValue[], b: readonly AttributeValue[]): boolean {
  if (a.length !== b.length) return false;
  return a.every((element, index) => {
    const other = b[index];
    return other !== undefined && sameValue(element, other);
  });
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  const members = new Set(a);
  return members.size === new Set(b).size && b.every((member) => members.has(member));
}

function numberText(text: string): string {
  return canonicalNumber(text);
}

function bytesText(bytes: Uint8Array): string {
  return bytes.join();
}
