/**
 * Tells operators who writes a mixed table without knowing of transactions there (core/audit.ts):
 * counts, and for each way of writing a line with names of attributes. Never a value, nor a key: an
 * audit's log is read by more people than the table is.
 */
import { audit, type Unaware } from "../../core/audit.ts";
import * as limits from "../../core/limits.ts";
import type { Observability } from "../shared/observability.ts";
import type { TableWrite } from "./table-stream-event.ts";

/** Writes that look alike: of one writer, likely. */
type Finding = Unaware & {
  readonly table: string;
  /** Of the first, for whoever looks for it in the table's stream. */
  readonly sequenceNumber: string;
  writes: number;
};

export function auditWrites(writes: readonly TableWrite[], { log, metrics }: Observability): void {
  const findings = new Map<string, Finding>();
  const withoutImages = new Set<string>();
  for (const write of writes) {
    if (write.change === undefined) {
      withoutImages.add(write.table);
      continue;
    }
    const [partitionKey = "", sortKey] = write.keyNames;
    const found = audit(write.change, { partitionKey, ...(sortKey && { sortKey }) });
    if (found.kind === "unaware") note(findings, write, found);
  }
  const unaware = [...findings.values()];
  metrics.count("AuditedWrites", writes.length);
  metrics.count("UnawareWrites", sumOf(unaware));
  metrics.count("UnawareUnderFence", sumOf(unaware.filter(({ isUnderFence }) => isUnderFence)));
  for (const table of withoutImages) {
    log.error("a table's stream does not carry old and new images: nothing tells who writes it", {
      table,
    });
  }
  const most = unaware.sort((a, b) => b.writes - a.writes);
  for (const { kind: _, ...finding } of most.slice(0, limits.auditLinesMax)) {
    const attributes = finding.attributes
      .slice(0, limits.auditNamesMax)
      .map((name) => name.slice(0, limits.auditNameLengthMax));
    log.warn("a mixed table is written by somebody who knows of no transactions", {
      ...finding,
      attributes,
    });
  }
}

function note(findings: Map<string, Finding>, write: TableWrite, found: Unaware): void {
  const { table, sequenceNumber } = write;
  const { write: how, isUnderFence, attributes } = found;
  const alike = JSON.stringify([table, how, isUnderFence, attributes]);
  const known = findings.get(alike);
  if (known === undefined) findings.set(alike, { ...found, table, sequenceNumber, writes: 1 });
  else known.writes += 1;
}

function sumOf(findings: readonly Finding[]): number {
  return findings.reduce((sum, { writes }) => sum + writes, 0);
}
