/**
 * What a program does to items of mixed tables by plain calls, each recorded in the run's history:
 * one record per call that reaches the network, and no retries but its own. A refusal that its own
 * condition does not explain is a finding (I10: nobody aborts a native write).
 */
import type { DynamoDbHandle } from "../../aws/clients.ts";
import type { Clock, Random } from "../../core/ports.ts";
import { fenceOf } from "../../core/item-identity.ts";
import * as limits from "../../core/limits.ts";
import type { Item } from "../../core/types.ts";
import { ServiceError } from "../../expressions/service-error.ts";
import { toSdkItem } from "../../testing/cloud/dynamodb/sdk-values.ts";
import { historyKey, historyVersion, historyAttribute } from "../../testing/history/key-text.ts";
import { beginNative, type NativeAnswer } from "../../testing/history/native-record.ts";
import type { HistoryRecorder } from "../../testing/history/recorder.ts";
import type { TestTable } from "../../testing/deployment-options.ts";
import { WorkloadFinding } from "../workloads/workload-finding.ts";
import {
  contentIn,
  holds,
  requestOf,
  type NativeKind,
  type NativeRequest,
  type NativeWrite,
} from "./native-write.ts";

export type NativeResult =
  /** `old`: what stood there, where it was asked for. */
  | { readonly kind: "done"; readonly old: Item | undefined }
  /** Its own condition was false: of this. */
  | { readonly kind: "refused"; readonly shown: Item | undefined }
  | { readonly kind: "unknown" }
  /** Nothing has happened: the service was busy, or a fence stood there for too long. */
  | { readonly kind: "nothing" };

/** How an aware writer meets a fence; without: it waits until somebody takes it away. */
export type ClearFence = (table: TestTable, stored: Item) => Promise<void>;

type Parts = {
  /** As the history names it. */
  readonly process: string;
  readonly kind: NativeKind;
  readonly dynamodb: DynamoDbHandle;
  readonly clock: Clock;
  readonly random: Random;
  readonly recorder: HistoryRecorder;
  readonly clearFence?: ClearFence | undefined;
};

const fenceMeetingsMax = 12;
const fenceWaitMs = 25;
const fenceWaitMsMax = 2_000;

export class NativeItems {
  readonly kind: NativeKind;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.kind = parts.kind;
    this.#parts = parts;
  }

  /** @throws WorkloadFinding when it is refused, and no condition of its own explains that. */
  async write(table: TestTable, write: NativeWrite): Promise<NativeResult> {
    for (let met = 0; met < fenceMeetingsMax; met += 1) {
      const answer = await this.#writeOnce(table, write);
      if (answer.kind !== "fenced") return answer;
      // probe: native-meets-fence
      await this.#clear(table, answer.stored, met);
    }
    return { kind: "nothing" };
  }

  /** Undefined: no answer came. */
  async get(
    table: TestTable,
    key: Item,
    { consistent = true }: { readonly consistent?: boolean } = {},
  ): Promise<{ readonly item: Item | undefined; readonly stored: Item | undefined } | undefined> {
    const { process, recorder, dynamodb } = this.#parts;
    const name = historyKey(table, key);
    const record = beginNative(recorder, { process, key: name, consistent });
    const { GetItemCommand } = dynamodb.sdk;
    try {
      const input = { TableName: table.name, Key: toSdkItem(key), ConsistentRead: consistent };
      const { Item: stored } = await dynamodb.client.send(new GetItemCommand(input));
      const item = contentIn(table, stored as Item | undefined);
      record.answered(foundIn(item));
      return { item: withoutVersion(item), stored: stored as Item | undefined };
    } catch (error) {
      if (meaningOf(error) === "other") throw error;
      record.forget();
      return undefined;
    }
  }

  async #writeOnce(
    table: TestTable,
    write: NativeWrite,
  ): Promise<NativeResult | { readonly kind: "fenced"; readonly stored: Item }> {
    const { process, kind, random, recorder } = this.#parts;
    const key = historyKey(table, write.kind === "put" ? write.item : write.key);
    const record = beginNative(recorder, {
      ...{ process, key, writes: write.kind === "delete" ? "d" : "w" },
    });
    const nonce = kind === "aware" ? random.bytes(limits.nonceBytes) : undefined;
    const extra = { [historyAttribute]: { S: record.version } };
    const request = requestOf(table, write, { extra, nonce });
    try {
      const old = contentIn(table, await this.#send(request));
      record.answered(write.returnsOld === true ? foundIn(old) : {});
      return { kind: "done", old: withoutVersion(old) };
    } catch (error) {
      const meaning = meaningOf(error);
      if (meaning === "other") throw error;
      if (meaning === "unknown") {
        record.unknown();
        return { kind: "unknown" };
      }
      const stored = meaning === "refused" ? (error as { Item?: Item }).Item : undefined;
      if (meaning === "nothing" || (kind === "aware" && isFenced(stored))) {
        record.forget();
        return stored === undefined ? { kind: "nothing" } : { kind: "fenced", stored };
      }
      const shown = contentIn(table, stored);
      record.refused(foundIn(shown));
      this.#assertOwn({ key, write, stored, shown });
      return { kind: "refused", shown: withoutVersion(shown) };
    }
  }

  #assertOwn(refused: {
    readonly key: string;
    readonly write: NativeWrite;
    readonly stored: Item | undefined;
    readonly shown: Item | undefined;
  }): void {
    const { key, write, stored, shown } = refused;
    const { condition } = write;
    if (condition !== undefined && !holds(condition, shown)) return;
    // A placeholder: the one gap of who does not know of it.
    const isGap = this.kind === "unaware" && stored !== undefined && shown === undefined;
    if (isGap && condition?.kind === "absent") return;
    throw new WorkloadFinding(`I10: a native ${write.kind} of ${key} was refused without a reason`);
  }

  /** @returns what stood there, where that was asked for. */
  async #send({ operation, input }: NativeRequest): Promise<Item | undefined> {
    const { client, sdk } = this.#parts.dynamodb;
    // Inputs are made as each of them has it.
    const answer = await (operation === "PutItem"
      ? client.send(new sdk.PutItemCommand(input as never))
      : operation === "DeleteItem"
        ? client.send(new sdk.DeleteItemCommand(input as never))
        : client.send(new sdk.UpdateItemCommand(input as never)));
    return answer.Attributes as Item | undefined;
  }

  async #clear(table: TestTable, stored: Item, met: number): Promise<void> {
    const { clearFence, clock, random } = this.#parts;
    if (clearFence !== undefined) {
      await clearFence(table, stored);
      return;
    }
    const waitMs = Math.min(fenceWaitMsMax, fenceWaitMs * 2 ** met);
    await clock.sleep(waitMs * (0.5 + random.next() / 2));
  }
}

function isFenced(stored: Item | undefined): boolean {
  return stored !== undefined && fenceOf(stored) !== undefined;
}

function foundIn(content: Item | undefined): NativeAnswer {
  const found = historyVersion(content);
  return found === undefined ? { foundItem: true } : { found };
}

function withoutVersion(content: Item | undefined): Item | undefined {
  if (content === undefined) return undefined;
  const { [historyAttribute]: _version, ...rest } = content;
  return rest;
}

/** What an error of the service, or of the way there, says of the call. */
function meaningOf(error: unknown): "refused" | "nothing" | "unknown" | "other" {
  if (!(error instanceof Error)) return "other";
  if (error.name === "ConditionalCheckFailedException") return "refused";
  if (error.name === "ProvisionedThroughputExceededException") return "nothing";
  if (error.name === "TimeoutError" || "code" in error) return "unknown";
  const isServers = error instanceof ServiceError && error.$fault === "server";
  return isServers ? "unknown" : "other";
}
