/** What an attempt met that an open BASE transaction holds: it runs again once that is over. */
import { UnavailableError } from "../../core/errors.ts";
import type { LockPlace } from "./saline-locks.ts";

/** Not part of the public API: its caller is told a `BaseOpenError`, if his time is up. */
export class HeldError extends UnavailableError {
  /** Those that hold it. */
  readonly bases: readonly string[];
  /** Items that the attempt has looked at: others are kept away for who waits long. */
  readonly places: readonly LockPlace[];

  constructor(bases: readonly string[], places: readonly LockPlace[]) {
    super(`BASE transaction ${bases.join(", ")} is open, and holds what is asked for`);
    this.bases = bases;
    this.places = places;
  }
}
