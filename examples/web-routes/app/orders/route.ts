/** `app/orders/route.ts`: buying seats. */
import { z } from "zod";
import { idempotencyKeyOf, parsed, validated } from "../../../http/requests.ts";
import { RequestProblem } from "../../../http/problems.ts";
import { buySeats } from "../../../tickets/tickets.ts";
import { answered } from "../../answered.ts";
import { tidemark } from "../../tidemark-client.ts";

const purchaseSchema = z.object({
  eventId: z.string().min(1),
  customer: z.string().min(1),
  seatIds: z.array(z.string().min(1)).min(1).max(10),
});

/** The order's id is made of the key: who repeats the request buys once. */
export function POST(request: Request): Promise<Response> {
  return answered(async () => {
    const orderId = idempotencyKeyOf("web", request.headers.get("idempotency-key"));
    const purchase = await validated(purchaseSchema, parsed(await request.text()));
    const { result } = await buySeats(tidemark(), { orderId, ...purchase });
    if (result.kind === "refused") {
      const { reason: code, ...more } = result;
      throw new RequestProblem({ status: 422, title: "Refused", code, ...more });
    }
    const location = `/orders/${encodeURIComponent(orderId)}`;
    return Response.json({ orderId, ...result }, { status: 201, headers: { location } });
  });
}
