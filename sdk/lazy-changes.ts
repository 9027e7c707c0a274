/** A change feed that is made when it is iterated: who asks for none loads none. */
import type { ChangedRows, Changes } from "./row-changes.ts";

export function lazyChanges(make: () => Promise<Changes>): Changes {
  let made: Changes | undefined;
  return {
    get position() {
      return made?.position;
    },
    async *[Symbol.asyncIterator](): AsyncGenerator<ChangedRows> {
      made ??= await make();
      yield* made;
    },
  };
}
