/** What a command of any AWS SDK client offers to middleware, as far as it is needed here. */

export type Handler = (args: object) => Promise<object>;

/**
 * Each command types its middleware by its own input and output; `never` stands for all of them,
 * since tries are watched, not read.
 */
export type MiddlewareHost = {
  readonly middlewareStack: {
    addRelativeTo(
      middleware: never,
      options: {
        readonly name: string;
        readonly relation: "before" | "after";
        readonly toMiddleware: "httpSigningMiddleware";
      },
    ): void;
  };
};
