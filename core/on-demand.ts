/**
 * Parts of the program that are loaded when they are first needed: what a transaction can do, but
 * most do not. A bundler makes files of their own of them (ADR 11).
 *
 * Loading takes turns of the event loop; using what is loaded takes none. So the user of a
 * part captures what its operation depends on before asking for it, as before any other wait.
 */
import { UnavailableError } from "./errors.ts";

export class OnDemand<Part> {
  static readonly #all = new Set<OnDemand<unknown>>();
  readonly #name: string;
  readonly #import: () => Promise<Part>;
  #part: Part | undefined;
  #loading: Promise<Part> | undefined;

  /** @param load an `import()`; so this module needs none, and stays synchronous. */
  constructor(name: string, load: () => Promise<Part>) {
    this.#name = name;
    this.#import = load;
    OnDemand.#all.add(this);
  }

  /**
   * Begins to load it; the result is the same for all who ask. A failure is of those who waited for
   * it only: the next one tries again.
   * @throws UnavailableError when it cannot be loaded.
   */
  load(): Promise<Part> {
    this.#loading ??= this.#import().then(
      (part) => (this.#part = part),
      (cause: unknown) => {
        this.#loading = undefined;
        throw new UnavailableError(
          `the part "${this.#name}" of Tidemark could not be loaded; is every file of the build ` +
            "there?",
          { cause },
        );
      },
    );
    return this.#loading;
  }

  /** What the action makes of the part: in this very turn if it is loaded. */
  use<Result>(action: (part: Part) => Promise<Result>): Promise<Result> {
    return this.#part === undefined ? this.load().then(action) : action(this.#part);
  }

  /**
   * Every part that the modules loaded so far may come to need; also those of parts that are loaded
   * while this is iterated.
   */
  static all(): Iterable<OnDemand<unknown>> {
    return OnDemand.#all;
  }
}
