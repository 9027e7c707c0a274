/** Ports that note their calls, and which of them cannot be given up by a signal. */
import type { Ports } from "../../core/ports.ts";

export type NotedCalls = {
  readonly ports: Ports;
  /** As `store.method`, in the order of the first call of each. */
  readonly made: ReadonlySet<string>;
  readonly withoutSignal: ReadonlySet<string>;
};

export function notingCalls(real: Ports, signal: AbortSignal): NotedCalls {
  const made = new Set<string>();
  const withoutSignal = new Set<string>();
  const noting = <Store extends object>(name: string, store: Store): Store =>
    new Proxy(store, {
      get: (target, method, receiver) => {
        const member: unknown = Reflect.get(target, method, receiver);
        if (typeof member !== "function") return member;
        return (...args: readonly unknown[]): unknown => {
          const call = `${name}.${String(method)}`;
          made.add(call);
          if (!args.some((arg) => hasSignal(arg, signal))) withoutSignal.add(call);
          return Reflect.apply(member, target, args);
        };
      },
    });
  const { stream, log, items, versions, control } = real;
  const ports = {
    ...real,
    stream: noting("stream", stream),
    log: noting("log", log),
    items: noting("items", items),
    versions: noting("versions", versions),
    control: noting("control", control),
  };
  return { ports, made, withoutSignal };
}

function hasSignal(arg: unknown, signal: AbortSignal): boolean {
  return typeof arg === "object" && arg !== null && "signal" in arg && arg.signal === signal;
}
