/** What an attempt met that an open BASE transaction holds: it runs again once that is over. */
import { UnavailableError } from "../../core/errors.ts";
import type { Timestamp } from "../../core/types.ts";
import type { LockPlace } from "./saline-locks.ts";

/** Not part of the public API: its caller is told a `BaseOpenError`, if his time is up. */
export class HeldError extends UnavailableError {
  /** Those that hold it. */
  readonly bases: readonly string[];
  /** Items that the attempt has looked at: others are kept away for who waits long. */
  readonly places: readonly LockPlace[];
  /** The moment of the past that is read, at which they stay open. */
  readonly asOf: Timestamp | undefined;

  constructor(bases: readonly string[], places: readonly LockPlace[], asOf?: Timestamp) {
    super(`BASE transaction ${bases.join(", ")} is open, and holds what is asked for`);
    this.bases = bases;
    this.places = places;
    this.asOf = asOf;
  }
}

/**
 * Somebody has waited long for an item, and is let through first. Not part of the public API, nor
 * worth another run at once.
 */
export class ReservedError extends Error {
  readonly place: LockPlace;
  constructor(place: LockPlace) {
    super("an item is kept free for a transaction that waits for it");
    this.place = place;
  }
}
