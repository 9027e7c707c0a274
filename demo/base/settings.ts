/** What processes of `--base` are told: when they start, and while they run. */
import { z } from "zod";
import { commitWays } from "../messages.ts";
import { killPoints, roles } from "./kill-points.ts";

/** As the only argument. */
export const baseSettingsSchema = z.object({
  endpoint: z.string(),
  /** Where the journals are. */
  folder: z.string(),
  runId: z.string(),
  role: z.enum(roles),
  program: z.int(),
  life: z.int(),
  seed: z.int(),
  commit: z.enum(commitWays),
  history: z.object({ folder: z.string(), originNs: z.string() }).optional(),
});

export type BaseSettings = z.infer<typeof baseSettingsSchema>;

export const baseOrderSchema = z.discriminatedUnion("kind", [
  /** kill -9 yourself when a payment comes by one of these points. */
  z.object({ kind: z.literal("die"), points: z.array(z.enum(killPoints)).readonly() }),
  /** Begin nothing more, and exit. */
  z.object({ kind: z.literal("stop") }),
]);

export type BaseOrder = z.infer<typeof baseOrderSchema>;
