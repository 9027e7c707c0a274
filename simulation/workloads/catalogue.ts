/** The workloads by name. */
import { bank } from "./bank.ts";
import { baseOrders } from "./base/orders.ts";
import { baseRequests } from "./base/requests.ts";
import { baseTransfers } from "./base/transfers.ts";
import { convoys } from "./convoys.ts";
import { idempotency } from "./idempotency.ts";
import { keyCycle } from "./key-cycle.ts";
import { largePayload } from "./large-payload.ts";
import { listAppend } from "./list-append.ts";
import { longScan } from "./long-scan.ts";
import { mixedLevels } from "./mixed-levels.ts";
import { past } from "./past.ts";
import { nativeRows } from "./native/native-rows.ts";
import { priceLists } from "./native/price-lists.ts";
import { sessionsWorkload } from "./native/sessions.ts";
import { statusUpdates } from "./native/status-updates.ts";
import { stock } from "./native/stock.ts";
import { talliesWorkload } from "./native/tallies.ts";
import { uniqueNames } from "./native/unique-names.ts";
import { phantom } from "./phantom.ts";
import { register } from "./register.ts";
import { reinsert } from "./reinsert.ts";
import { restTransfers } from "./rest-transfers.ts";
import { ticketSale } from "./ticket-sale.ts";
import type { WorkloadFactory } from "./workload.ts";
import { writeSkew } from "./write-skew.ts";

/** Transactions have the tables of these to themselves. */
const transactional = {
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

/** In these, native writers are at the same tables. */
const native = {
  stock,
  "status-updates": statusUpdates,
  sessions: sessionsWorkload,
  "unique-names": uniqueNames,
  tallies: talliesWorkload,
  "native-rows": nativeRows,
  "price-lists": priceLists,
} as const satisfies Record<string, WorkloadFactory>;

/** In these, some of what clients do are BASE transactions. */
const base = {
  "base-transfers": baseTransfers,
  "base-orders": baseOrders,
  "base-requests": baseRequests,
} as const satisfies Record<string, WorkloadFactory>;

export const workloads = { ...transactional, ...native, ...base };

export type WorkloadName = keyof typeof workloads;

export const transactionalWorkloads = Object.keys(transactional) as readonly WorkloadName[];

export const nativeWorkloads = Object.keys(native) as readonly WorkloadName[];

export const baseWorkloads = Object.keys(base) as readonly WorkloadName[];

/**
 * Transactional workloads that run on mixed tables as well: they ask for nothing of the past, no
 * plain writer does what it must not, and they do not judge what a body sees before its attempt has
 * ended: reads of mixed tables are of one moment only then.
 */
export const mixableWorkloads: readonly WorkloadName[] = transactionalWorkloads.filter(
  (name) =>
    !["past", "long-scan", "mixed-levels", "reinsert", "rest-transfers", "convoys"].includes(name),
);

export const workloadNames = Object.keys(workloads) as readonly WorkloadName[];

/**
 * What snapshot isolation allows and some workload looks for: a sweep must see each of them now and
 * then.
 */
export const allowedAnomalies = ["write-skew", "phantom"] as const;

/** What workloads look for beside that (`Workload.sought`). */
export const soughtNames = ["requests-begun", "cancels-won", "cancels-lost"] as const;
