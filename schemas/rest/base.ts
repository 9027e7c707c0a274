/** What the REST interface takes and answers of BASE transactions (docs/base.md). */
import * as z from "zod";
import * as limits from "../../core/limits.ts";
import { utf8Length } from "../../core/utf8.ts";
import { format, value } from "./requests.ts";

const name = z
  .string()
  .regex(/^[\w.-]+$/, { error: "must be letters, digits, dots, dashes and underscores" })
  .max(limits.baseNameBytesMax)
  .meta({ description: "The handler's name, as defineBase has it.", examples: ["create-order"] });

const id = z
  .string()
  .min(1)
  .max(limits.baseIdBytesMax)
  .refine((text) => utf8Length(text) <= limits.baseIdBytesMax, {
    error: `must have at most ${limits.baseIdBytesMax} bytes in UTF-8`,
  })
  .meta({ description: "At most 256 bytes in UTF-8.", examples: ["order-17"] });

export const baseRequest = z
  .strictObject({
    format,
    name,
    id,
    version: z
      .int()
      .min(1)
      .max(limits.baseVersionMax)
      .default(1)
      .meta({ description: "Of the handler, as defineBase has it." }),
    input: value.optional(),
  })
  .meta({ id: "BaseRequest" });

export const baseQuery = z.strictObject({ name, id, format });

export const baseName = z.strictObject({ name, id }).meta({ id: "BaseName" });

export const openBasesQuery = z.strictObject({
  name: name.optional(),
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|100)$/, { error: "must be 1 to 100" })
    .optional()
    .meta({ description: "1 to 100, which is the default.", examples: ["20"] }),
});

const basePhases = [
  "requested",
  "running",
  "parked",
  "ended",
  "released",
  "refused",
  "cancelled",
  "damaged",
] as const;

export const baseStatus = z
  .strictObject({
    name: z.string(),
    id: z.string(),
    version: z.int().min(0).meta({ description: "0: not known, where it is damaged." }),
    phase: z.enum(basePhases).meta({
      description:
        "requested: recorded, and nobody has begun it. running: its first step is committed, and " +
        "it goes on to its end. parked: its handler has failed too often; it waits for resume. " +
        "ended: it waits for those that it depends on. released: all see what it has written. " +
        "refused, cancelled: nothing of it has happened, and nothing will. " +
        "damaged: an item of its record is none that Tidemark has written; failure says which.",
    }),
    steps: z.int().min(0).meta({ description: "Committed so far." }),
    since: z.iso.datetime().optional().meta({
      description: "When it began, or else was requested; absent where it is damaged.",
    }),
    lastHeard: z.iso
      .datetime()
      .optional()
      .meta({ description: "When a process was last at it; absent: none has been." }),
    failures: z.int().min(0).meta({ description: "Of its handler, since its last step." }),
    failingSince: z.iso.datetime().optional().meta({ description: "When the first of these was." }),
    retriesAt: z.iso
      .datetime()
      .optional()
      .meta({ description: "No runner tries it again before that; absent: it does not rest." }),
    failure: z.string().optional().meta({ description: "The last one." }),
    refusal: z
      .strictObject({ step: z.string().optional(), name: z.string(), message: z.string() })
      .optional()
      .meta({
        description:
          "Of a refused one: the first step's name (absent: its input was refused before), and " +
          "the error's name and message.",
      }),
    result: value.optional().meta({
      description: "What its handler returned, once it is released; absent where that is nothing.",
    }),
  })
  .meta({ id: "BaseStatus" });

export const baseRequested = z
  .strictObject({
    isNew: z
      .boolean()
      .meta({ description: "false: one of that name, id, version and input was there before." }),
    base: baseStatus,
  })
  .meta({ id: "BaseRequested" });

export const openBases = z
  .strictObject({
    all: z.int().min(0).meta({ description: "So many are open or requested." }),
    bases: z.array(baseStatus).max(limits.restBasesMax),
  })
  .meta({ id: "OpenBases" });

export const baseResumed = z
  .strictObject({
    isResumed: z.boolean().meta({ description: "false: it was not parked; nothing is changed." }),
    base: baseStatus,
  })
  .meta({ id: "BaseResumed" });

export type BaseRequestBody = z.output<typeof baseRequest>;
export type BaseQuery = z.output<typeof baseQuery>;
export type BaseName = z.output<typeof baseName>;
export type OpenBasesQuery = z.output<typeof openBasesQuery>;
export type BaseStatusAnswer = z.output<typeof baseStatus>;
export type BaseRequestedAnswer = z.output<typeof baseRequested>;
export type OpenBasesAnswer = z.output<typeof openBases>;
export type BaseResumedAnswer = z.output<typeof baseResumed>;
