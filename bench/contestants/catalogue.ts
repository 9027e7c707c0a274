/** The contestants that run inside a client process. */
import type { BenchTarget, ContestantClient, InProcessContestant } from "../harness/contestant.ts";
import { openNative } from "./native.ts";
import { openTidemark } from "./tidemark.ts";
import { openTransactWriteItems } from "./transact-write-items.ts";

export const openContestant: Readonly<
  Record<InProcessContestant, (target: BenchTarget) => Promise<ContestantClient>>
> = {
  "tidemark-auto": openTidemark("tidemark-auto"),
  "tidemark-stream": openTidemark("tidemark-stream"),
  "tidemark-express": openTidemark("tidemark-express"),
  "tidemark-snapshot": openTidemark("tidemark-snapshot"),
  "tidemark-mixed": openTidemark("tidemark-mixed"),
  "tidemark-mixed-snapshot": openTidemark("tidemark-mixed-snapshot"),
  native: openNative("native"),
  "native-in-turn": openNative("native-in-turn"),
  "transact-write-items": openTransactWriteItems,
};
