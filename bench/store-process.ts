/**
 * dynalite in a process of its own, so that a benchmark's processor time is its own. Ends with the
 * process that forked it.
 */
import { startProtocolServer } from "../localstack/protocol-server.ts";

const { port } = await startProtocolServer({ service: "dynamodb", port: 0, folder: undefined });
process.once("disconnect", () => process.exit());
process.send?.(port);
