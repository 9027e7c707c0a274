/** What the benchmark and the functions' processes say to each other, a line each. */
import type { Cost } from "../cost.ts";

export const meterPortVariable = "TIDEMARK_BENCH_METER_PORT";

export type MeterRequest = "on" | "off" | "read";

export type MeterAnswer = { readonly role: string; readonly cost: Cost };
