/** `warmUp` takes a client of the AWS SDK, and says so of anything else. */
import { expect, test } from "vitest";
import { warmUp } from "../../client/index.ts";
import { createTestCloud } from "../../testing/index.ts";

test("Tidemark's own client, and none, are refused by name", async () => {
  const cloud = await createTestCloud({});
  const refusal = { name: "InvalidRequestError", field: "client" };
  for (const wrong of [cloud.createClient("shop"), undefined, {}]) {
    await expect(warmUp(wrong as never)).rejects.toMatchObject(refusal);
  }
});
