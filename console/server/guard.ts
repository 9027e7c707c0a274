/**
 * Who may ask the console. It listens on loopback and shows what its user may read, so a web page
 * that the user has open elsewhere must get nothing of it: not under a name of its own that has
 * come to mean 127.0.0.1 (DNS rebinding: the header Host tells), and not by sending forms or
 * scripts across (Origin and Sec-Fetch-Site tell). What changes anything takes the token of this
 * start besides, which other users of the machine have not got; against AWS reading takes it, too.
 */
import { timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";

export type Refusal = { readonly status: 401 | 403 | 413 | 415 | 421; readonly message: string };

export type Asking = {
  readonly method: string;
  readonly path: string;
  readonly header: (name: string) => string | undefined;
};

export type Door = {
  readonly port: number;
  readonly token: string;
  /** Reading takes the token, too. */
  readonly isLocked: boolean;
};

/** Undefined: it may. Pure. */
export function refusal(asking: Asking, { port, token, isLocked }: Door): Refusal | undefined {
  const { method, path, header } = asking;
  const own = [`127.0.0.1:${port}`, `localhost:${port}`];
  const host = header("host");
  if (host === undefined || !own.includes(host.toLowerCase())) {
    const message = `the console answers at http://127.0.0.1:${port} alone (header Host)`;
    return { status: 421, message };
  }
  const origin = header("origin");
  const site = header("sec-fetch-site");
  const isOurs = origin === undefined || own.some((each) => origin === `http://${each}`);
  // A link or a bookmark opens the page itself; nothing else is fetched from elsewhere.
  const isOpening = method === "GET" && path === "/" && header("sec-fetch-mode") === "navigate";
  const isNear = site === undefined || site === "same-origin" || site === "none";
  if (!isOurs || !(isNear || isOpening)) {
    return { status: 403, message: "the console takes no requests of other pages" };
  }
  if (method === "GET" || method === "HEAD") {
    const isOpen = !isLocked || !path.startsWith("/api/");
    return isOpen || hasToken(header, token) ? undefined : tokenMissing;
  }
  if (!(header("content-type") ?? "").startsWith("application/json")) {
    return { status: 415, message: "send JSON (header Content-Type: application/json)" };
  }
  return hasToken(header, token) ? undefined : tokenMissing;
}

const tokenMissing: Refusal = {
  status: 401,
  message:
    "this takes the token of this start: open the console by the whole address that was printed, " +
    "with what follows the #",
};

function hasToken(header: Asking["header"], token: string): boolean {
  const given = Buffer.from(header("authorization") ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Refuses, and sets the headers that every answer has. */
export function guarded(door: () => Door): MiddlewareHandler {
  return async (c, next) => {
    const { method, path } = c.req;
    const refused = refusal({ method, path, header: (name) => c.req.header(name) }, door());
    c.header("x-content-type-options", "nosniff");
    c.header("referrer-policy", "no-referrer");
    c.header("cross-origin-resource-policy", "same-origin");
    c.header("cross-origin-opener-policy", "same-origin");
    c.header("x-frame-options", "DENY");
    c.header("cache-control", "no-store");
    if (refused === undefined) return next();
    const { status, message } = refused;
    return c.json({ error: { code: "refused", message } }, status);
  };
}
