/** A card service and a carrier in memory, for the example and its test. */
import type { Services } from "./fulfilment.ts";

export type StandIns = Services & {
  /** By the key that it was asked with. */
  readonly charged: ReadonlyMap<string, number>;
  readonly parcels: ReadonlyMap<string, string>;
};

/** @param declines which amounts its cards do not carry. */
export function standIns(declines: (cents: number) => boolean = () => false): StandIns {
  const charged = new Map<string, number>();
  const parcels = new Map<string, string>();
  return {
    charged,
    parcels,
    charge: (key, cents) => {
      if (declines(cents)) return Promise.resolve("declined");
      // Asked again with the same key, it charges nothing more, as card services do.
      charged.set(key, cents);
      return Promise.resolve("charged");
    },
    handOver: (key) => {
      const parcel = parcels.get(key) ?? `parcel ${(parcels.size + 1).toString()}`;
      parcels.set(key, parcel);
      return Promise.resolve({ parcel });
    },
  };
}
