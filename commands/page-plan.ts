/** What a Query or a Scan asks for, and where its rows come from. */
import type { Item } from "../core/types.ts";
import type { PageRequest, RowPage } from "../engine/types.ts";
import type { IndexSchema } from "../expressions/key-schema.ts";
import type { BoundPage, Fetches, PageInput } from "../expressions/pages.ts";
import type { Reported } from "./refused.ts";
import type { CommandTable } from "./tables.ts";

export type PageCommand = PageInput &
  Reported & {
    readonly TableName?: string | undefined;
  };

/** Where rows come from, in which order. */
export type PagePlan = {
  readonly input: PageCommand;
  readonly bound: BoundPage;
  /** What it returns, and whether an index holds that. */
  readonly select: string;
  readonly fetches: Fetches;
  readonly isQuery: boolean;
  readonly table: CommandTable;
  readonly index: IndexSchema | undefined;
  readonly fetch: (page: PageRequest) => Promise<RowPage>;
  /** Equal for what goes through the same rows in the same order. */
  readonly pass: string;
  /**
   * Whether any key says where to go on. Else it is only where the transaction has been itself: it
   * may have rows of its own at the end.
   */
  readonly isOrdered: boolean;
  /** Whether a row is there at all. */
  readonly holds: (item: Item) => boolean;
};
