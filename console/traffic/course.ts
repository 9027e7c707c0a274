/** The course of one transfer, told by its own client as it happens. */
import type { Clock } from "../../core/ports.ts";
import { spanText } from "../../inspection/words/moments.ts";
import { itemJson } from "../../inspection/words/values.ts";
import type { EngineEvent, Receipt, TransactionError } from "../../sdk/index.ts";
import * as limits from "../limits.ts";
import type { Level, Step, StepKey, WireItem } from "../wire.ts";
import type { MetConflict, TransferCourse } from "./messages.ts";

type Aborted = Extract<EngineEvent, { kind: "attempt-aborted" }>;

export class Course {
  readonly #clock: Clock;
  readonly #what: string;
  readonly #ids = new Set<string>();
  readonly #steps: Step[] = [];
  #attempt = 1;

  constructor(clock: Clock, what: string) {
    this.#clock = clock;
    this.#what = what;
  }

  told(): TransferCourse {
    return { ids: [...this.#ids], steps: this.#steps };
  }

  read(table: string, id: string, value: string): void {
    const key: StepKey = { op: "put", table, key: { id: { S: id } } };
    this.#add("read", "fine", `read: ${value}`, { keys: [key] });
  }

  note(event: EngineEvent): void {
    switch (event.kind) {
      case "attempt-started":
        this.#attempt = event.attempt;
        this.#add("attempt", "fine", `attempt ${event.attempt}: ${this.#what}`);
        return;
      case "attempt-aborted":
        this.#aborted(event);
        return;
      case "sent": {
        const how = event.via === "express" ? "to the log, as a block of its own" : "to the stream";
        this.#known(event.transactionId);
        this.#add("send", "fine", `${event.resend ? "sent again" : "sent"} ${how}`);
        return;
      }
      case "joined":
        this.#known(event.transactionId);
        this.#add("send", "fine", "joined another one of its process: certified as one", {
          other: event.transactionId,
        });
        return;
      case "certified":
        this.#known(event.transactionId);
        this.#add("decide", "fine", `knows that it is committed, by ${event.via}`);
        return;
      case "unknown":
        this.#known(event.transactionId);
        this.#add("decide", "unknown", "saw no decision in time: its outcome is unknown to it");
        return;
      case "helped":
        this.#add("install", "fine", "installed what another one had left", {
          other: event.transactionId,
        });
        return;
      case "install-left":
        this.#add("install", "warning", "left some of its writes to replay");
        return;
      case "call-started":
      case "body-ended":
      case "committed":
      case "call-failed":
      case "installed":
      case "express-denied":
      case "house-kept":
      case "housekeeping-failed":
        return;
    }
  }

  committed({ phases, attempts, transactionId }: Receipt): void {
    if (transactionId !== undefined) this.#known(transactionId);
    const { bodyMs, certifyMs, installMs } = phases;
    const times = `body ${spanText(bodyMs)}, verdict ${spanText(certifyMs)}, installs`;
    const runs = attempts === 1 ? "one run" : `${attempts} runs`;
    this.#add("end", "fine", `acknowledged after ${runs}: ${times} ${spanText(installMs)}`);
  }

  failed({ message }: TransactionError): void {
    this.#add("end", "bad", message);
  }

  conflictOf({ detail, early, attempt, transactionId }: Aborted): MetConflict | undefined {
    if (detail === undefined) return undefined;
    return {
      table: detail.table ?? "unknown",
      key: detail.key === undefined ? undefined : (itemJson(detail.key) as WireItem),
      ...{ early, attempt, id: transactionId, version: detail.version },
    };
  }

  #aborted({ reason, detail, early, transactionId }: Aborted): void {
    if (transactionId !== undefined) this.#known(transactionId);
    const where = early ? "found by itself, before it was sent" : "told by the verdict";
    const { table, key } = detail ?? {};
    const keys: Pick<Step, "keys"> =
      table === undefined || key === undefined
        ? {}
        : { keys: [{ op: "put", table, key: itemJson(key) as WireItem }] };
    this.#add("decide", "warning", `attempt ${this.#attempt} lost: ${reason}, ${where}`, keys);
  }

  #known(id: string): void {
    this.#ids.add(id);
  }

  #add(
    kind: Step["kind"],
    level: Level,
    text: string,
    more: Pick<Step, "keys" | "other"> = {},
  ): void {
    if (this.#steps.length >= limits.courseStepsMax) return;
    const at = Math.round(this.#clock.nowMs() * 1_000);
    this.#steps.push({ at, from: "client", kind, level, text, ...more });
  }
}
