/** In Next.js `app/events/[eventId]/route.ts`: how a sale stands. */
import { notFound } from "../../../../http/problems.ts";
import { salesReport } from "../../../../tickets/tickets.ts";
import { answered } from "../../../answered.ts";
import { tidemark } from "../../../tidemark-client.ts";

type Context = { readonly params: Promise<{ readonly eventId: string }> };

export function GET(_request: Request, { params }: Context): Promise<Response> {
  return answered(async () => {
    const { eventId } = await params;
    const report = await tidemark().snapshot((snapshot) => salesReport(snapshot, eventId));
    if (report === undefined) throw notFound(`there is no event ${eventId}`);
    return Response.json(report);
  });
}
