/** What a client loads that keeps house: the keeper, on ports of its own to the same deployment. */
import { createAwsPorts, type AwsPortsOptions } from "../../../aws/ports.ts";
import type { Listener } from "../../../engine/quiet-listener.ts";
import { startKeeper } from "./keeper.ts";

/**
 * The connection of a client that keeps house. The keeper has ports of its own, so that its calls
 * hold up no transaction.
 */
export function withKeeper<Connection extends { close(): Promise<void> }>(
  connection: Connection,
  options: AwsPortsOptions,
  onEvent: Listener | undefined,
): Connection {
  const ports = createAwsPorts(options);
  const keeper = startKeeper(ports, onEvent);
  return {
    ...connection,
    async close() {
      await keeper.stop();
      await ports.close();
      await connection.close();
    },
  };
}
