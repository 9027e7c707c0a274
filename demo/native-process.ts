/**
 * A program of the demo that knows the shop's table by plain DynamoDB calls: it sells by the recipe
 * for aware writers, one attribute and one condition (docs/adr/0014-native-operations.md), and now
 * and then restocks by a transaction. It may be killed at any moment.
 */
import { randomBytes } from "node:crypto";
import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { z } from "zod";
import { type Client, createClient, TransactionError } from "../sdk/index.ts";
import { discover } from "../sdk/discovery.ts";
import { NativeJournal } from "./native/native-journal.ts";
import { depotOf, goods, goodsOf } from "./native/shop.ts";
import { plainClient } from "./plain-dynamodb.ts";
import { SeededRandom } from "./seeded-random.ts";

const settingsSchema = z.object({
  endpoint: z.string(),
  folder: z.string(),
  runId: z.string(),
  program: z.int(),
  life: z.int(),
  seed: z.int(),
});

export type NativeSettings = z.infer<typeof settingsSchema>;

const restockOneIn = 4;
const amountMax = 5;
const restockMax = 20;
const fenceWaitMs = 20;
const pauseAfterFailureMs = 100;
const nonceBytes = 16;
const discoveriesMax = 100;
const discoverAgainMs = 100;

class NativeProgram {
  readonly #settings: NativeSettings;
  readonly #random: SeededRandom;
  readonly #journal: NativeJournal;
  readonly #db: Client;
  readonly #plain: DynamoDBClient;
  #isStopping = false;
  #made = 0;

  constructor(settings: NativeSettings, plain: DynamoDBClient) {
    const { endpoint, folder, program, life, seed } = settings;
    this.#settings = settings;
    this.#random = new SeededRandom(seed, 0x5a1e + program, life);
    this.#journal = new NativeJournal(folder, settings);
    this.#db = createClient({ endpoint });
    this.#plain = plain;
  }

  stop(): void {
    this.#isStopping = true;
  }

  async run(): Promise<void> {
    while (!this.#isStopping) {
      this.#made += 1;
      const { program, life } = this.#settings;
      const id = `${program}-${life}-${this.#made}`;
      try {
        if (this.#random.below(restockOneIn) === 0) await this.#restock(id);
        else await this.#sell(id);
      } catch (error) {
        const isOfTransaction = error instanceof TransactionError;
        if (isOfTransaction && !error.retryable && error.outcome === "aborted") throw error;
        await pause(pauseAfterFailureMs);
      }
    }
    await this.#db.close();
    this.#plain.destroy();
    this.#journal.close();
  }

  async #sell(id: string): Promise<void> {
    const good = this.#random.pick(goodsOf(this.#settings.runId));
    const amount = 1 + this.#random.below(amountMax);
    this.#journal.append({ kind: "sale", id, amount });
    while (!this.#isStopping) {
      try {
        await this.#plain.send(saleOf(good, amount));
        this.#journal.append({ kind: "sold", id });
        return;
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
        // A transaction's fence: its commit is on its way to this very item. Nothing was done.
        if (error.Item?.["_f"] === undefined) break;
        await pause(fenceWaitMs);
      }
    }
    this.#journal.append({ kind: "refused", id });
  }

  async #restock(id: string): Promise<void> {
    const { runId } = this.#settings;
    const good = this.#random.pick(goodsOf(runId));
    const amount = 1 + this.#random.below(restockMax);
    await this.#db.transact(async (tx) => {
      const [from, to] = await tx.batchGet(goods, [depotOf(runId), good]);
      if (from === undefined || to === undefined || from.units < amount) return;
      tx.put(goods, { ...from, units: from.units - amount });
      tx.put(goods, { ...to, units: to.units + amount });
    });
    this.#journal.append({ kind: "restocked", id });
    if (process.connected) process.send?.("restocked", undefined, {}, () => undefined);
  }
}

/** The recipe: a nonce, and no fence there. */
function saleOf(good: string, amount: number): UpdateItemCommand {
  return new UpdateItemCommand({
    TableName: goods.name,
    Key: { id: { S: good } },
    UpdateExpression: "SET #n = :nonce, units = units - :amount",
    ConditionExpression: "units >= :amount AND attribute_not_exists(#f)",
    ExpressionAttributeNames: { "#n": "_n", "#f": "_f" },
    ExpressionAttributeValues: {
      ":nonce": { B: randomBytes(nonceBytes) },
      ":amount": { N: amount.toString() },
    },
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

/** The stack; its front may have been killed a moment ago, and is started again. */
async function found(endpoint: string): ReturnType<typeof discover> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await discover(endpoint);
    } catch (error) {
      if (tries === discoveriesMax) throw error;
      await pause(discoverAgainMs);
    }
  }
}

const settings = settingsSchema.parse(JSON.parse(process.argv[2] ?? ""));
// A second try of the AWS SDK's own might take effect beside the first one.
const plain = plainClient(await found(settings.endpoint), { maxAttempts: 1 });
const program = new NativeProgram(settings, plain);
process.on("message", () => {
  program.stop();
});
process.on("disconnect", () => process.exit(1));
process.on("SIGINT", () => undefined);
await program.run();
process.exit(0);
