/** What a client loads that keeps house: the keeper, on ports of its own to the same deployment. */
import { createAwsPorts, type AwsPortsOptions } from "../../../aws/ports.ts";
import type { EngineEvent } from "../../../engine/types.ts";
import { startKeeper, type Keeper, type KeeperParts } from "./keeper.ts";

type Listener = ((event: EngineEvent) => void) | undefined;

/**
 * The connection of a client that keeps house. The keeper has ports of its own, so that its calls
 * hold up no transaction.
 */
export function withKeeper<Connection extends { close(): Promise<void> }>(
  connection: Connection,
  options: AwsPortsOptions,
  onEvent: Listener,
): Connection {
  const ports = createAwsPorts(options);
  const keeper = startKeeperThatTells(ports, onEvent);
  return {
    ...connection,
    async close() {
      await keeper.stop();
      await ports.close();
      await connection.close();
    },
  };
}

export function startKeeperThatTells(ports: KeeperParts["ports"], onEvent: Listener): Keeper {
  const tell = (event: EngineEvent): void => {
    try {
      onEvent?.(event);
    } catch {
      // A listener's failure is not the house's.
    }
  };
  return startKeeper({
    ports,
    onKept: () => {
      tell({ kind: "house-kept" });
    },
    onFailed: (cause) => {
      tell({ kind: "housekeeping-failed", cause });
    },
  });
}
