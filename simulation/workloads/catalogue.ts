/** The workloads by name. */
import { bank } from "./bank.ts";
import { convoys } from "./convoys.ts";
import { idempotency } from "./idempotency.ts";
import { keyCycle } from "./key-cycle.ts";
import { largePayload } from "./large-payload.ts";
import { listAppend } from "./list-append.ts";
import { longScan } from "./long-scan.ts";
import { mixedLevels } from "./mixed-levels.ts";
import { past } from "./past.ts";
import { phantom } from "./phantom.ts";
import { register } from "./register.ts";
import { reinsert } from "./reinsert.ts";
import { restTransfers } from "./rest-transfers.ts";
import { ticketSale } from "./ticket-sale.ts";
import type { WorkloadFactory } from "./workload.ts";
import { writeSkew } from "./write-skew.ts";

export const workloads = {
  bank,
  "ticket-sale": ticketSale,
  "key-cycle": keyCycle,
  "list-append": listAppend,
  register,
  "write-skew": writeSkew,
  phantom,
  "long-scan": longScan,
  reinsert,
  idempotency,
  "mixed-levels": mixedLevels,
  "large-payload": largePayload,
  "rest-transfers": restTransfers,
  convoys,
  past,
} as const satisfies Record<string, WorkloadFactory>;

export type WorkloadName = keyof typeof workloads;

export const workloadNames = Object.keys(workloads) as readonly WorkloadName[];

/**
 * What snapshot isolation allows and some workload looks for: a sweep must see each of them now and
 * then.
 */
export const allowedAnomalies = ["write-skew", "phantom"] as const;
