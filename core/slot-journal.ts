/**
 * What a draft has overwritten in the slots of a table, in order, so that it can be put back. As
 * long as the draft, whatever the size of the table; its memory is reused from draft to draft.
 */

/** Of such a table: the two words of a hash, and a value that is 0 where the slot is empty. */
export const slotWords = 3;
/** Which slot, and its words as they were. */
const entryWords = 1 + slotWords;

export class SlotJournal {
  #entries = new Uint32Array(1024 * entryWords);
  #end = 0;

  /** How much is noted, for `restore`. */
  get length(): number {
    return this.#end;
  }

  clear(): void {
    this.#end = 0;
  }

  /** Notes the slot that begins at `slots[at]`, before it is written. */
  note(slots: Uint32Array, at: number): void {
    if (this.#end === this.#entries.length) this.#grow();
    const entries = this.#entries;
    const end = this.#end;
    entries[end] = at;
    entries[end + 1] = slots[at] ?? 0;
    entries[end + 2] = slots[at + 1] ?? 0;
    entries[end + 3] = slots[at + 2] ?? 0;
    this.#end = end + entryWords;
  }

  /**
   * Puts back what was noted before `length`, the last one first, and forgets all. Gives the number
   * of slots that were empty.
   */
  restore(slots: Uint32Array, length: number): number {
    const entries = this.#entries;
    let emptied = 0;
    for (let entry = length - entryWords; entry >= 0; entry -= entryWords) {
      const at = entries[entry] ?? 0;
      slots[at] = entries[entry + 1] ?? 0;
      slots[at + 1] = entries[entry + 2] ?? 0;
      slots[at + 2] = entries[entry + 3] ?? 0;
      if (slots[at + 2] === 0) emptied += 1;
    }
    this.clear();
    return emptied;
  }

  #grow(): void {
    const larger = new Uint32Array(this.#entries.length * 2);
    larger.set(this.#entries);
    this.#entries = larger;
  }
}
