/** Bounds of splits by load (core/split-policy.ts). Part of core/limits.ts. */
/** The share of what is too much below which no part of the window may fall. */
export const splitKeepShare = 0.7;
/** What either part of a shard has at least: of its load, and of the 2^32 hashes. */
export const splitPartShareMin = 0.2;
export const splitPartHashesMin = 2 ** 16;
/** So many writes have to be seen before they say where the load lies. */
export const splitHashesMin = 64;
/** Parts of the window, and blocks that are read in each. */
export const splitSlots = 5;
export const splitSlotBlocksMax = 16;
/** Blocks that one look for a moment in a log reads; beyond that it is guessed between two. */
export const splitProbesMax = 12;
/** Pages above the watermark in which a step of a join is looked for. */
export const splitPagesMax = 4;
/** Of an invocation, below which no further shard is measured, and none is split. */
export const splitterReserveMs = 15_000;

/** What may be said of when a shard is split; whole numbers. A split costs more than it takes. */
export const splitSettings = {
  entriesPerSecond: { min: 1, max: 1_000_000, default: 2_000 },
  writeUnitsPerSecond: { min: 1, max: 1_000_000, default: 700 },
  lagSeconds: { min: 1, max: 86_400, default: 60 },
  windowSeconds: { min: 5, max: 3_600, default: 300 },
  coolDownSeconds: { min: 5, max: 604_800, default: 900 },
} as const;
/** On one machine: somebody sits before the result, and it does less than a shard on AWS. */
export const localSplitEntriesPerSecond = 200;
export const localSplitWindowSeconds = 20;
export const localSplitCoolDownSeconds = 40;
