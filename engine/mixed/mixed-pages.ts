/** Where pages of mixed tables come from, by what was asked. */
import type { ClientPorts } from "../../core/ports.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { MixedPageRequest } from "../attempts/remembered-state.ts";
import type { PageSource } from "./mixed-read-set.ts";

export function pageSource(
  ports: Pick<ClientPorts, "mixed">,
  hashes: KeyHashes,
  request: MixedPageRequest,
): PageSource {
  const { table } = request;
  if (request.kind === "scan") {
    const { segment } = request;
    const scan = { table, ...(segment === undefined ? {} : { segment }) };
    return {
      request,
      hash: hashes.table(table.name),
      predicate: { table: table.name, on: "table", key: undefined },
      read: (from, options) => ports.mixed.scan({ ...scan, ...from }, options),
    };
  }
  const { partitionKey, sortKey, descending } = request;
  const query = { table, partitionKey, sortKey, descending };
  return {
    request,
    hash: hashes.partition(table.name, partitionKey),
    predicate: {
      ...{ table: table.name, on: "partition" },
      key: { [table.partitionKey.name]: partitionKey },
    },
    read: (from, options) => ports.mixed.query({ ...query, ...from }, options),
  };
}
