/**
 * Hashes of few bits: of a hundred items, many have one hash. What a collision must not do
 * (docs/protocol.md §2) then shows in every run, and not once in the life of the universe. Only
 * the ports of a simulated deployment give out such hashers.
 */
import { assert } from "../core/assert.ts";
import type { KeyHasher } from "../core/key-hash.ts";
import type { ControlStore } from "../core/ports.ts";

const bitsMax = 32;

/** The ports, with hashers of so many bits; unchanged without a number. */
export function withHashBits<P extends { readonly control: Pick<ControlStore, "keyHasher"> }>(
  ports: P,
  bits: number | undefined,
): P {
  if (bits === undefined) return ports;
  const { control } = ports;
  const keyHasher: ControlStore["keyHasher"] = async (shard, options) =>
    narrowed(await control.keyHasher(shard, options), bits);
  return { ...ports, control: { ...control, keyHasher } };
}

/** Keeps the highest bits, by which the oracle's index chooses its bucket. */
function narrowed(hasher: KeyHasher, bits: number): KeyHasher {
  assert(Number.isInteger(bits) && bits > 0 && bits <= bitsMax, "a hash has 1 to 32 bits here");
  const shift = bitsMax - bits;
  const hash = hasher.hash.bind(hasher);
  const chain = hasher.chain.bind(hasher);
  const narrow = (): void => {
    hasher.set((hasher.high >>> shift) << shift, 0);
  };
  hasher.hash = (...input) => {
    hash(...input);
    narrow();
  };
  hasher.chain = (...input) => {
    chain(...input);
    narrow();
  };
  return hasher;
}
