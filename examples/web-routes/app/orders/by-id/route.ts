/** In Next.js `app/orders/[orderId]/route.ts`: an order, and cancelling it. */
import { notFound, RequestProblem } from "../../../../http/problems.ts";
import { cancelOrder, orders, payments } from "../../../../tickets/tickets.ts";
import { answered } from "../../../answered.ts";
import { tidemark } from "../../../tidemark-client.ts";

type Context = { readonly params: Promise<{ readonly orderId: string }> };

/** Both rows as they are together: nobody sees a cancelled order that is not refunded. */
export function GET(_request: Request, { params }: Context): Promise<Response> {
  return answered(async () => {
    const { orderId } = await params;
    const [order, payment] = await tidemark().snapshot((snapshot) =>
      snapshot.batchGet([
        [orders, orderId],
        [payments, orderId],
      ]),
    );
    if (order === undefined) throw notFound(`there is no order ${orderId}`);
    return Response.json({ ...order, payment: payment?.state });
  });
}

/** A DELETE says by itself how often it counts. */
export function DELETE(_request: Request, { params }: Context): Promise<Response> {
  return answered(async () => {
    const { orderId } = await params;
    const { result } = await cancelOrder(tidemark(), orderId);
    if (result.kind === "cancelled") return Response.json({ orderId, ...result });
    if (result.reason === "unknown-order") throw notFound(`there is no order ${orderId}`);
    throw new RequestProblem({ status: 409, code: result.reason, title: "Cancelled before" });
  });
}
