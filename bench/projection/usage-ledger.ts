/** What the parts of a deployment consume, part by part: units, calls, invocations. */

export type Part = "client" | "oracle" | "replay" | "other";

export type Usage = {
  readUnits: number;
  writeUnits: number;
  calls: number;
  /** Calls and records that a limit refused. */
  throttled: number;
  records: number;
  recordBytes: number;
  putUnits: number;
  invocations: number;
  /** Billed: each invocation rounded up to a millisecond. */
  invocationMs: number;
  /** Of those of `readUnits` that are polls of the log: Query. */
  queryReadUnits: number;
  /** Of those of `writeUnits` that were for blocks of the log, refused ones too; and how many. */
  blockWriteUnits: number;
  blockPuts: number;
  blocks: number;
};

export type PartUsage = { readonly [Name in Part]: Readonly<Usage> };

function noUsage(): Usage {
  return {
    readUnits: 0,
    writeUnits: 0,
    calls: 0,
    throttled: 0,
    records: 0,
    recordBytes: 0,
    putUnits: 0,
    invocations: 0,
    invocationMs: 0,
    queryReadUnits: 0,
    blockWriteUnits: 0,
    blockPuts: 0,
    blocks: 0,
  };
}

function noUsages(): { readonly [Name in Part]: Usage } {
  return { client: noUsage(), oracle: noUsage(), replay: noUsage(), other: noUsage() };
}

export class UsageLedger {
  #usages = noUsages();
  /**
   * Whose call is arriving at a service. Services answer at once, so nobody else's comes in
   * between.
   */
  #current: Part = "other";

  during<Result>(part: Part, act: () => Result): Result {
    const before = this.#current;
    this.#current = part;
    try {
      return act();
    } finally {
      this.#current = before;
    }
  }

  noteCall(part: Part): void {
    this.#usages[part].calls += 1;
  }

  noteThrottled(): void {
    this.#usages[this.#current].throttled += 1;
  }

  noteRead(operation: string, units: number): void {
    const usage = this.#usages[this.#current];
    usage.readUnits += units;
    if (operation === "Query") usage.queryReadUnits += units;
  }

  noteWrite(units: number): void {
    this.#usages[this.#current].writeUnits += units;
  }

  noteBlock(units: number, isRefused: boolean): void {
    const usage = this.#usages[this.#current];
    usage.blockWriteUnits += units;
    usage.blockPuts += 1;
    if (!isRefused) usage.blocks += 1;
  }

  noteRecord(record: { readonly bytes: number; readonly putUnits: number }): void {
    const usage = this.#usages[this.#current];
    usage.records += 1;
    usage.recordBytes += record.bytes;
    usage.putUnits += record.putUnits;
  }

  noteInvocation(part: Part, durationMs: number): void {
    const usage = this.#usages[part];
    usage.invocations += 1;
    usage.invocationMs += Math.max(1, Math.ceil(durationMs));
  }

  reset(): void {
    this.#usages = noUsages();
  }

  snapshot(): PartUsage {
    return structuredClone(this.#usages);
  }
}
