/** Transfers in a cloud in memory: no server, no Docker, and faults where a test wants them. */
import { CommitUnknownError } from "tidemark";
import { createTestCloud } from "tidemark/testing";
import { expect, test } from "vitest";
import { accounts, transfer, type Transfer } from "../src/accounts.ts";

const order: Transfer = { transferId: "t1", source: "ann", target: "bob", amountCents: 60 };

async function openCloud() {
  const cloud = await createTestCloud({ tables: [accounts] });
  cloud.seed(accounts, [
    { id: "ann", balanceCents: 100 },
    { id: "bob", balanceCents: 0 },
  ]);
  const balances = () => cloud.rows(accounts).map(({ balanceCents }) => balanceCents);
  return { cloud, app: cloud.startProcess("app"), balances };
}

test("a transfer moves the money, once, however often it is called", async () => {
  const { cloud, app, balances } = await openCloud();
  await cloud.run(async () => {
    expect(await transfer(app.client, order)).toBe("done");
    expect(await transfer(app.client, order)).toBe("done");
  });
  expect(balances()).toEqual([40, 60]);
});

test("what the source does not hold is refused", async () => {
  const { cloud, app, balances } = await openCloud();
  const greedy = { ...order, amountCents: 101 };
  expect(await cloud.run(() => transfer(app.client, greedy))).toBe("refused");
  expect(balances()).toEqual([100, 0]);
});

test("somebody else who writes the account in between is no reason to fail", async () => {
  const { cloud, app, balances } = await openCloud();
  cloud.conflictOn(accounts, "ann");
  expect(await cloud.run(() => transfer(app.client, order))).toBe("done");
  expect(balances()).toEqual([40, 60]);
});

test("an unknown outcome is settled by calling again", async () => {
  const { cloud, app, balances } = await openCloud();
  app.nextCommitUnknown("committed");
  await cloud.run(async () => {
    await expect(transfer(app.client, order)).rejects.toThrow(CommitUnknownError);
    expect(await transfer(app.client, order)).toBe("done");
  });
  await cloud.settled();
  expect(balances()).toEqual([40, 60]);
});
