/** How Lambda understands what a function returns for a batch. Pure. */

/** How far a function's answer says that a batch was processed. */
export type BatchResult =
  | { readonly kind: "done" }
  /** `index` is that of the first record to deliver again; 0 means the whole batch. */
  | { readonly kind: "failed-from"; readonly index: number };

/**
 * With `ReportBatchItemFailures`: nothing, or an empty list, is success; the lowest sequence number
 * reported is where delivery goes on; an identifier that is missing, empty or not of this batch
 * fails the whole batch.
 */
export function interpretBatchResponse(
  response: unknown,
  records: readonly { readonly sequenceNumber: string }[],
): BatchResult {
  if (response === null || response === undefined) return { kind: "done" };
  const failures = member(response, "batchItemFailures");
  if (failures === null || failures === undefined) return { kind: "done" };
  if (!Array.isArray(failures)) return { kind: "failed-from", index: 0 };
  let lowest = records.length;
  for (const failure of failures as readonly unknown[]) {
    const identifier = member(failure, "itemIdentifier");
    const index = records.findIndex((record) => record.sequenceNumber === identifier);
    if (index === -1) return { kind: "failed-from", index: 0 };
    lowest = Math.min(lowest, index);
  }
  return lowest === records.length ? { kind: "done" } : { kind: "failed-from", index: lowest };
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
