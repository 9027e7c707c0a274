/**
 * A condition that did not hold: was it the user's, or that no fence stands? What was shown tells.
 * A store that shows no item has none, if it is DynamoDB, or has shown one before; of others
 * (dynalite) it is asked, and tried again. Once the fence is dealt with, the call is made again.
 */
import type { KeyNames } from "../core/attributes.ts";
import { UnavailableError } from "../core/errors.ts";
import { fenceAttribute } from "../core/attributes.ts";
import * as limits from "../core/limits.ts";
import type { FenceClearing } from "../core/native-support.ts";
import type { Item } from "../core/types.ts";
import { visible } from "./hidden.ts";
import type { ShownItem, WireItem } from "./wire.ts";

/** A write whose refusal may be of a fence. */
export type GuardedWrite = {
  readonly table: KeyNames;
  readonly key: WireItem;
  /** What the user asked to be shown, and whether there was a condition of the user's. */
  readonly asked: string | undefined;
  readonly isConditional: boolean;
};

/** What a refusal shows of one item: the error itself, or one of a transaction's reasons. */
export type Refusal = { Item?: ShownItem | undefined; readonly Code?: string | undefined };

type Refused = readonly (readonly [Refusal, GuardedWrite | undefined])[];
type Whose = "fence's" | "user's" | "user's, it seems";

export class Refusals {
  readonly #clearing: FenceClearing;
  /** Whether the store is known to show what stands there. */
  #shows = false;

  constructor(clearing: FenceClearing) {
    this.#clearing = clearing;
  }

  /**
   * Calls until no fence stands in the way.
   * @param refused the refusals in an error, each with the write that it is of.
   * @param isDynamoDb whether DynamoDB itself answers, as far as is known after a call.
   */
  async overcome<Result>(
    call: () => Promise<Result>,
    refused: (error: unknown) => Refused,
    isDynamoDb: () => boolean,
  ): Promise<Result> {
    let isSure = false;
    for (let met = 0; ; met += 1) {
      try {
        return await call();
      } catch (error) {
        const refusals = refused(error);
        const whose = await this.#whose(refusals, isDynamoDb());
        // A fence that was not shown may have gone before it was looked for: so it is tried twice.
        const isUsers = whose === "user's" || (whose === "user's, it seems" && isSure);
        if (isUsers) {
          for (const [refusal, write] of refusals) asTheUserAsked(refusal, write);
          throw error;
        }
        isSure = whose !== "fence's";
        if (met === limits.mixedSettlesMax) throw tooMany(refusals, error);
      }
    }
  }

  /** Whose condition did not hold; fences are dealt with then. */
  async #whose(refusals: Refused, isDynamoDb: boolean): Promise<Whose> {
    const asked = refusals.map(async ([{ Item }, write]): Promise<Whose> => {
      if (write === undefined) return "user's";
      const isFenced = Item !== undefined && Object.hasOwn(Item, fenceAttribute);
      if (Item !== undefined) {
        this.#shows = true;
        if (!isFenced) return "user's";
      } else if (write.isConditional && (isDynamoDb || this.#shows)) return "user's";
      const at = { table: write.table.name, key: write.key as unknown as Item };
      const stood = await this.#clearing.clearFence(at);
      // Somebody else may have been faster.
      return stood || isFenced || !write.isConditional ? "fence's" : "user's, it seems";
    });
    const found = new Set(await Promise.all(asked));
    if (found.has("fence's")) return "fence's";
    return found.has("user's, it seems") ? "user's, it seems" : "user's";
  }
}

/** What the user did not ask for is not shown; nor what is Tidemark's. */
function asTheUserAsked(refusal: Refusal, write: GuardedWrite | undefined): void {
  if (write === undefined || refusal.Item === undefined) return;
  const shown = write.asked === "ALL_OLD" ? visible(refusal.Item, write.table) : undefined;
  // As the AWS SDK has it where nothing is shown: errors have the name, reasons do not.
  if (shown === undefined && !(refusal instanceof Error)) delete refusal.Item;
  else refusal.Item = shown;
}

function tooMany(refusals: Refused, cause: unknown): UnavailableError {
  const table = refusals.find(([, write]) => write !== undefined)?.[1]?.table.name ?? "";
  return new UnavailableError(`an item of table "${table}" is fenced again and again`, { cause });
}
