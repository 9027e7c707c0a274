/** What something costs per transaction, in units, calls and dollars, and how it is printed. */

export type Cost = {
  readonly calls: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  /** 25-KB units put into the stream. */
  readonly streamUnits: number;
  readonly invocations: number;
};

export const noCost: Cost = {
  calls: 0,
  readUnits: 0,
  writeUnits: 0,
  streamUnits: 0,
  invocations: 0,
};

export type PricedCost = Cost & { readonly dollarsPerMillion: number };

/** us-east-1, dollars per million. */
export const prices = { readUnit: 0.125, writeUnit: 0.625, streamUnit: 0.014, invocation: 0.2 };

export function priced(cost: Cost): PricedCost {
  const dollarsPerMillion =
    cost.readUnits * prices.readUnit +
    cost.writeUnits * prices.writeUnit +
    cost.streamUnits * prices.streamUnit +
    cost.invocations * prices.invocation;
  return { ...cost, dollarsPerMillion };
}

export function add(left: Cost, right: Cost): Cost {
  return {
    calls: left.calls + right.calls,
    readUnits: left.readUnits + right.readUnits,
    writeUnits: left.writeUnits + right.writeUnits,
    streamUnits: left.streamUnits + right.streamUnits,
    invocations: left.invocations + right.invocations,
  };
}

/** What came since an earlier reading of the same meter. */
export function subtract(left: Cost, right: Cost): Cost {
  return {
    calls: left.calls - right.calls,
    readUnits: left.readUnits - right.readUnits,
    writeUnits: left.writeUnits - right.writeUnits,
    streamUnits: left.streamUnits - right.streamUnits,
    invocations: left.invocations - right.invocations,
  };
}

/** Read units / write units / calls. */
export function unitsText({ readUnits, writeUnits, calls }: Cost): string {
  return [readUnits, writeUnits, calls].map((value) => short(value)).join(" / ");
}

export function short(value: number): string {
  return value < 9.95 ? Number(value.toFixed(2)).toString() : Math.round(value).toString();
}
