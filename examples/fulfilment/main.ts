/**
 * Orders that take long: `npx tsx examples/fulfilment/main.ts` beside a running `npm start`. One is
 * left in its middle by a process that ends, and a runner goes on with it.
 */
import { randomUUID } from "node:crypto";
import { Command } from "commander";
import { type Client, createClient, TransactionError } from "../../sdk/index.ts";
import { endpointOption } from "../endpoint-option.ts";
import {
  auditFulfilment,
  fulfil,
  fulfilmentWith,
  type Order,
  type Services,
  stock,
} from "./fulfilment.ts";
import { standIns } from "./stand-ins.ts";
import { makeTables } from "./tables.ts";

async function main(endpoint: string): Promise<void> {
  await makeTables(endpoint);
  await using db = createClient({ endpoint });
  const run = randomUUID().slice(0, 8);
  const article = `lamp-${run}`;
  const orderOf = (customer: string, cents: number) => ({
    ...{ orderId: `${run}-${customer}`, customer, cents },
    lines: [{ article, count: 1 }],
  });
  await db.transact(async (tx) => tx.put(stock, { article, count: 3 }));
  const services = standIns((cents) => cents > 100_000);
  const fulfilOrder = fulfilmentWith(services);

  const ann = await fulfil(db, fulfilOrder, orderOf("Ann", 4_900));
  console.log("Ann's lamp is set aside, and she is told so.");
  console.log("And then:", await ann.accepted.result());

  const bob = await fulfil(db, fulfilOrder, orderOf("Bob", 200_000));
  console.log(
    "Bob's card does not carry it, so his lamp is put back:",
    await bob.accepted.result(),
  );

  await leaveInTheMiddle(endpoint, services, orderOf("Cleo", 4_900));
  const orderIds = ["Ann", "Bob", "Cleo"].map((customer) => `${run}-${customer}`);
  const audit = (client: Client) =>
    client.snapshot((reads) => auditFulfilment(reads, new Map([[article, 3]]), orderIds));
  console.log("Cleo's process has ended in the middle. Who looks sees nothing of it:");
  console.log("  wrong:", await audit(db));

  await db.baseRunner({ handlers: [fulfilOrder], takeOverMs: 100, until: "caught-up" });
  const cleo = db.baseOf(fulfilOrder, `${run}-Cleo`);
  console.log("A runner has gone on with it:", await cleo.result());
  console.log("  wrong:", await audit(db));
}

/** Its process ends while the card is being charged. */
async function leaveInTheMiddle(endpoint: string, services: Services, order: Order): Promise<void> {
  const db = createClient({ endpoint });
  await new Promise<void>((charging, failed) => {
    const charge = (): Promise<never> => {
      charging();
      return new Promise(() => undefined);
    };
    fulfil(db, fulfilmentWith({ ...services, charge }), order).catch(failed);
  });
  await db.close();
}

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const program = new Command("fulfilment").description("Orders that take long, as BASE.");
program.addOption(endpointOption()).parse();
try {
  await main(program.opts<{ endpoint: string }>().endpoint);
} catch (error) {
  if (!(error instanceof TransactionError)) throw error;
  console.error(`fulfilment: ${error.message}`);
  process.exitCode = 1;
}
