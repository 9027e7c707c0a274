/** What an engine does for native operations beside its transactions (native/). */
import { keyNamesOf } from "../core/attributes.ts";
import * as limits from "../core/limits.ts";
import type { NativeAddress, NativeTable } from "../core/native-support.ts";
import type { Call } from "./call.ts";
import { orAborted } from "./concurrency.ts";
import type { EngineCore } from "./engine-core.ts";

export async function mixedTables(
  { registry }: Pick<EngineCore, "registry">,
  { signal }: Pick<Call, "signal">,
): Promise<NativeTable[]> {
  // Who asks does so again and again, and is asked in turn for no older list than this.
  const isOld = registry.ageMs > limits.nativeTablesMsMax / 2;
  await orAborted(isOld ? registry.reload() : registry.ready(), signal);
  // On its way from or to it a table has tombstones or fences that nobody should take for items.
  return registry
    .all()
    .filter(({ access, move }) => access === "mixed" || move !== undefined)
    .map((table) => ({
      ...keyNamesOf(table),
      ...(table.move === undefined ? {} : { move: table.move }),
    }));
}

/** @throws InvalidRequestError for a table that is not registered. */
export async function clearFence(
  core: EngineCore,
  call: Call,
  { table, key }: NativeAddress,
): Promise<boolean> {
  const { sessions, registry } = await core.services(call);
  const at = { table: keyNamesOf(registry.describe(table)), key };
  const { number } = sessions.at(sessions.hashes.item(at.table, key).partition);
  const { session } = await orAborted(sessions.of(number), call.signal);
  const mixed = await orAborted(session.mixed(), call.signal);
  return orAborted(mixed.clearFence(at, call.options), call.signal);
}
