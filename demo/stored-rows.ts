/**
 * The tables as DynamoDB has them, read without the SDK: plain, strongly consistent scans, versions
 * included. They tell the truth about commits only once every committed write is installed.
 */
import { DynamoDBClient, paginateScan } from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { z } from "zod";
import { createAwsPorts } from "../aws/ports.ts";
import type { StackDescription } from "../sdk/discovery.ts";
import { accounts, accountSchema, ledger, ledgerEntrySchema } from "../examples/bank/bank.ts";
import type { BankRows } from "../examples/bank/audit.ts";
import type { SalesRows } from "../examples/tickets/audit.ts";
import * as tickets from "../examples/tickets/tickets.ts";

export type StoredRows = {
  readonly bank: BankRows;
  readonly sales: SalesRows;
  /**
   * By table and key, as `versionKey` puts them: the commit timestamp of the write that is stored.
   */
  readonly versions: ReadonlyMap<string, number>;
};

export function versionKey(table: { readonly name: string }, ...key: readonly string[]): string {
  return JSON.stringify([table.name, ...key]);
}

const watermarkWaitMsMax = 60_000;
const watermarkPollMs = 50;

/**
 * Waits until replay vouches that everything up to a timestamp is installed (the watermark).
 * @throws Error when it does not within a minute: then replay is stuck.
 */
export async function awaitWatermark(stack: StackDescription, timestamp: number): Promise<void> {
  const ports = createAwsPorts({ ...stack, endpoint: stack.endpoints });
  const untilMs = performance.now() + watermarkWaitMsMax;
  try {
    // What has ended was installed before; a log that is quiet need not come as far as the others.
    const map = await ports.control.shardMap();
    for (const { id: shard } of map?.entries ?? []) {
      const [newest] = await ports.log.readBackward(shard, { blocksMax: 1 });
      for (;;) {
        const watermark = await ports.control.readWatermark(shard);
        if ((watermark?.timestamp ?? 0) >= timestamp) break;
        if (newest !== undefined && (watermark?.position ?? 0) >= newest.position) break;
        if (performance.now() > untilMs) {
          throw new Error(`the watermark of ${shard} stays below ${timestamp}: replay is stuck`);
        }
        await new Promise((resolve) => setTimeout(resolve, watermarkPollMs));
      }
    }
  } finally {
    await ports.close();
  }
}

/** @param prefix of the keys that the run has written. */
export async function readStoredRows(stack: StackDescription, prefix: string): Promise<StoredRows> {
  const client = new DynamoDBClient({
    region: stack.region,
    endpoint: stack.endpoints.dynamodb,
    credentials: { accessKeyId: "demo", secretAccessKey: "demo" },
  });
  const versions = new Map<string, number>();
  const rowsOf = async <Row>(
    table: { readonly name: string; readonly keyNames: readonly string[] | undefined },
    schema: z.ZodType<Row>,
  ): Promise<Row[]> => {
    const rows: Row[] = [];
    const pages = paginateScan({ client }, { TableName: table.name, ConsistentRead: true });
    for await (const { Items = [] } of pages) {
      for (const item of Items) {
        const { _v: version, _x: deleted, ...attributes } = unmarshall(item);
        const key = (table.keyNames ?? []).map((name) => String(attributes[name]));
        if (deleted === true || key[0]?.startsWith(prefix) !== true) continue;
        versions.set(versionKey(table, ...key), Number(version ?? 0));
        rows.push(schema.parse(attributes));
      }
    }
    return rows;
  };
  try {
    return {
      bank: {
        accounts: await rowsOf(accounts, accountSchema),
        ledger: await rowsOf(ledger, ledgerEntrySchema),
      },
      sales: {
        events: await rowsOf(tickets.events, tickets.eventSchema),
        seats: await rowsOf(tickets.seats, tickets.seatSchema),
        orders: await rowsOf(tickets.orders, tickets.orderSchema),
        payments: await rowsOf(tickets.payments, tickets.paymentSchema),
      },
      versions,
    };
  } finally {
    client.destroy();
  }
}
