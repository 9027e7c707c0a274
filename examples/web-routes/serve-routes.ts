/** What Next.js does with files of routes, as far as this example needs it. */
import { Hono } from "hono";
import { notFound, problemResponse } from "../http/problems.ts";
import * as event from "./app/events/by-id/route.ts";
import * as order from "./app/orders/by-id/route.ts";
import * as orders from "./app/orders/route.ts";

/** Which parameters it has is its path's affair. */
type RouteHandler = (
  request: Request,
  context: { readonly params: Promise<never> },
) => Promise<Response>;

const files: Readonly<Record<string, Readonly<Record<string, RouteHandler>>>> = {
  "/events/:eventId": event,
  "/orders": orders,
  "/orders/:orderId": order,
};

export function serveRoutes(): Hono {
  const app = new Hono();
  for (const [path, handlers] of Object.entries(files)) {
    for (const [method, handle] of Object.entries(handlers)) {
      app.on(method, path, (c) =>
        handle(c.req.raw, { params: Promise.resolve(c.req.param() as never) }),
      );
    }
  }
  app.notFound(() => problemResponse(notFound("there is nothing here").problem));
  return app;
}
