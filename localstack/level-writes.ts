/**
 * LevelDB and a write that fails, for want of space say. Its log then ends in the middle of a
 * record. LevelDB takes further writes all the same, behind the torn one; they are acknowledged,
 * and missing when the log is read again. So writes go one at a time, and after one that failed
 * none is made any more until the database is opened anew. Reads go on.
 */
import { createRequire } from "node:module";
import { diskFullCode } from "../core/errors.ts";

/** How both protocol servers know an error that they are to answer with. */
type Answer = {
  readonly statusCode: number;
  readonly body: { readonly __type: string; readonly message: string };
};

type Callback = (error?: Error | null) => void;
type Database = { readonly status: string };
type Method = (this: Database, ...parameters: unknown[]) => Promise<void> | undefined;
type Prototype = Record<"_put" | "_del" | "_batch", Method>;

const methods = ["_put", "_del", "_batch"] as const;

/**
 * From now on, for all databases that the protocol servers of this process open.
 * @param refusal what to tell clients, and whoever looks at the log, of a failed write. Asked once.
 */
export function stopAtFailedWrite(refusal: (failure: Error) => string): void {
  const require = createRequire(import.meta.url);
  const dynalite = createRequire(require.resolve("dynalite"));
  const kinesalite = createRequire(require.resolve("kinesalite"));
  const level = createRequire(dynalite.resolve("level"));
  const levelup = createRequire(kinesalite.resolve("levelup"));
  const { ClassicLevel } = level("classic-level") as { ClassicLevel: { prototype: Prototype } };
  const leveldown = kinesalite("leveldown") as { prototype: Prototype };
  const { WriteError } = levelup("level-errors") as { WriteError: { prototype: Error } };
  const writes = new Writes(refusal);
  for (const name of methods) {
    const write = ClassicLevel.prototype[name];
    ClassicLevel.prototype[name] = function (...parameters) {
      return writes.next(this, async () => write.apply(this, parameters));
    };
    const writeThen = leveldown.prototype[name];
    leveldown.prototype[name] = function (...parameters) {
      const callback = parameters.pop() as Callback;
      const done = writes.next(
        this,
        () =>
          new Promise<void>((resolve, reject) => {
            const settle: Callback = (error) => {
              if (error === undefined || error === null) resolve();
              else reject(error);
            };
            void writeThen.call(this, ...parameters, settle);
          }),
      );
      const tell: Callback = (error) => {
        process.nextTick(callback, error);
      };
      done.then(() => {
        tell();
      }, tell);
      return undefined;
    };
  }
  // What levelup makes of an error keeps the message and nothing else.
  Object.defineProperty(WriteError.prototype, "statusCode", { value: answerStatus });
  Object.defineProperty(WriteError.prototype, "body", {
    get(this: Error) {
      return answerBody(this.message);
    },
  });
}

/** Insufficient storage. AWS's clients do not try it again by themselves, so it is told at once. */
const answerStatus = 507;

function answerBody(message: string): Answer["body"] {
  return { __type: diskFullCode, message };
}

class Writes {
  readonly #refusal: (failure: Error) => string;
  /** The last write of each, settled once it and all before it have been made. */
  readonly #last = new WeakMap<Database, Promise<void>>();
  /** Of any database: what one has said and another not would not fit together for long. */
  #refused: (Error & Answer) | undefined;

  constructor(refusal: (failure: Error) => string) {
    this.#refusal = refusal;
  }

  next(database: Database, write: () => Promise<void>): Promise<void> {
    const before = this.#last.get(database) ?? Promise.resolve();
    const made = before.then(async () => {
      if (this.#refused !== undefined) throw this.#refused;
      if (database.status !== "open") throw new Error("the database is closed");
      try {
        await write();
      } catch (error) {
        throw this.#failed(error);
      }
    });
    this.#last.set(
      database,
      made.catch(() => undefined),
    );
    return made;
  }

  #failed(error: unknown): unknown {
    if (!(error instanceof Error) || !isOfTheMachine(error)) return error;
    const message = this.#refusal(error);
    this.#refused = Object.assign(new Error(message, { cause: error }), {
      statusCode: answerStatus,
      body: answerBody(message),
    });
    return this.#refused;
  }
}

/** LevelDB's own words: a full disk, a quota, a file that may not grow. */
function isOfTheMachine(error: Error): boolean {
  return error.message.startsWith("IO error: ");
}
