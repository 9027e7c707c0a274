/**
 * On AWS: with the rights of policy `read-only` all that looks works, sends nothing but reads, and
 * says what it may not see; and what changes a deployment wants --write, and nothing is sent
 * without.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAwsClients } from "../../aws/clients.ts";
import { awsPortsOn } from "../../aws/ports.ts";
import { readingOnly } from "../../aws/reading-only.ts";
import type { TransactionId } from "../../core/types.ts";
import { startCallRecorder, type CallRecorder } from "../deploy/call-recorder.ts";
import { allows, readGrants } from "../deploy/grants.ts";
import { tidemark, type Ran } from "./fixtures/command-line.ts";
import {
  accounts,
  committed,
  orders,
  startSmallDeployment,
  type SmallDeployment,
} from "./fixtures/small-deployment.ts";

let small: SmallDeployment;
let gate: CallRecorder;
let byStream: TransactionId;
let express: TransactionId;

beforeAll(async () => {
  small = await startSmallDeployment();
  byStream = await committed(small.byStream, async (tx) => {
    tx.put(accounts, { id: "ann", cents: 1 });
  });
  express = await committed(small.express, async (tx) => {
    tx.put(accounts, { id: "ann", cents: 2 });
    tx.put(orders, { customer: "ann", placedAt: 1, total: 1 });
  });
  await small.express.consume({ name: "search", until: "caught-up" }, () => Promise.resolve());
  const { readOnly, seeFeeds } = readGrants();
  const granted = [...readOnly, ...seeFeeds];
  gate = await startCallRecorder(small.stack.endpoints, small.ports.names, {
    mixed: ["carts"],
    permits: (call) => granted.some((grant) => allows(grant, call)),
  });
}, 60_000);

afterAll(async () => {
  await gate.stop();
  await small.stop();
});

/** As on AWS, with exactly the rights of the policy. */
function run(...args: readonly string[]): Promise<Ran> {
  const { deployment, region } = small.stack;
  return tidemark([...args, "--deployment", deployment, "--region", region], {
    environment: { AWS_ENDPOINT_URL: gate.url },
  });
}

describe("with policy read-only", () => {
  test("status says what it may not see, and is well", async () => {
    const { code, out, err } = await run("status");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^local in us-east-1: healthy\n/);
    expect(out).toMatch(/\?\? {3}oracle: no right to read the stream/);
    expect(out).toMatch(/\?\? {3}dead letters: no right to look for them/);
  });

  test("keys of what went by the stream are unknown, and said to be; others are told", async () => {
    const { code, out } = await run("log", "--payloads");
    expect(code).toBe(0);
    expect(out).toMatch(
      new RegExp(`${byStream} .* accounts \\(1\\)\n {4}keys unknown: no right to read the stream`),
    );
    expect(out).toMatch(new RegExp(`${express} {2}express\n {4}put {4}accounts "ann"`));
    const outcome = await run("outcome", byStream);
    expect([outcome.code, outcome.out]).toEqual([0, expect.stringContaining("keys unknown: no r")]);
  });

  test.each([
    ["tables"],
    ["shards"],
    ["shards", "where", "accounts", "ann"],
    ["item", "accounts", "ann"],
    ["item", "orders", "ann", "1"],
    ["conflicts", "--payloads"],
    ["audit", "--payloads"],
    ["base"],
    ["feeds"],
    ["feeds", "show", "search"],
  ])("%s %s works", async (...args) => {
    const { code, err } = await run(...args);
    expect([code, err]).toEqual([0, ""]);
  });

  test("doctor says what is not to be seen; by --write what is not allowed", async () => {
    const { code, out } = await run("doctor");
    expect(code).toBe(0);
    expect(out).not.toMatch(/BAD|WARN/);
    expect(out).toMatch(/\?\? {3}stream: no right to list its shards\n +→ policy read-write/);
    expect(out).toMatch(/\?\? {3}table accounts: no right to describe it/);
    const { code: tried, out: rights } = await run("doctor", "--write");
    expect(tried).toBe(0);
    expect(rights).toMatch(
      /WARN {2}rights: may not append blocks .*\n +→ policy express has the r/,
    );
    expect(rights).toContain("rights: may not install items of carts");
    const { region } = small.stack;
    const nowhere = await tidemark(["doctor", "--deployment", "nowhere", "--region", region], {
      environment: { AWS_ENDPOINT_URL: small.stack.endpoints.dynamodb },
    });
    expect([nowhere.code, nowhere.out]).toEqual([
      1,
      expect.stringMatching(/BAD {3}deployment: table tidemark-nowhere-log does not exist/),
    ]);
  });

  test("nothing but reads has come through", () => {
    const actions = new Set(gate.calls().map(({ action }) => action));
    expect(
      [...actions].filter((each) => !/:(GetItem|Query|Scan|BatchGetItem)$/.test(each)),
    ).toEqual([]);
  });
});

describe("without --write", () => {
  test.each([
    [["register", "accounts"]],
    [["tables", "register", "accounts"]],
    [["tables", "adopt", "accounts"]],
    [["tables", "history", "accounts", "on"]],
    [["tables", "mixed", "accounts"]],
    [["tables", "transactional", "carts"]],
    [["move", "accounts", "--access", "mixed"]],
    [["register", "accounts", "--base"]],
    [["base", "resume", "create-order", "order-17"]],
    [["base", "resume", "--all"]],
    [["feeds", "reset", "search", "--to", "now"]],
    [["feeds", "remove", "search"]],
  ] as const)("%j is refused before anything is sent", async (args) => {
    const before = gate.calls().length;
    const { code, out, err } = await run(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^tidemark: this would change the deployment "local" on AWS; add --write/);
    expect(gate.calls()).toHaveLength(before);
  });

  test("`register --check` looks all the same", async () => {
    const at = ["--deployment", small.stack.deployment, "--region", small.stack.region];
    const { endpoints } = small.stack;
    const { code, out } = await tidemark(["register", "accounts", "--check", ...at], {
      environment: {
        AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
        AWS_ENDPOINT_URL_KINESIS: endpoints.kinesis,
      },
    });
    expect([code, out]).toEqual([0, "accounts (id:S): no reserved names in all its items (1)\n"]);
  });

  test("what it finds ends with 1, and is told in the form that was asked for", async () => {
    const expected = /table "nowhere" does not exist; create it first/;
    const check = ["register", "nowhere", "--check", "--endpoint", small.stack.endpoint];
    const text = await tidemark(check);
    expect([text.code, text.out]).toEqual([1, ""]);
    expect(text.err).toMatch(new RegExp(`^tidemark: ${expected.source}`));
    const { code, out, err } = await tidemark([...check, "--json"]);
    expect([code, out]).toEqual([1, ""]);
    const { error } = JSON.parse(err) as { error: { code: string; message: string } };
    expect(error.code).toBe("invalid-request");
    expect(error.message).toMatch(expected);
  });
});

test("with --write a deployment is changed by who may", async () => {
  const { deployment, region, endpoints } = small.stack;
  const environment = {
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
    AWS_ENDPOINT_URL_KINESIS: endpoints.kinesis,
  };
  const at = ["--deployment", deployment, "--region", region];
  const on = await tidemark(["tables", "history", "accounts", "on", "--write", ...at], {
    environment,
  });
  expect([on.code, on.out]).toEqual([0, "registered accounts (id:S, with history)\n"]);
  const denied = await run("tables", "history", "accounts", "off", "--write");
  expect([denied.code, denied.out]).toEqual([1, ""]);
  expect(denied.err).toMatch(/AccessDenied|not authorized/);
});

test("clients that only read refuse to write, whoever asks", async () => {
  const { deployment, region, endpoints } = small.stack;
  const clients = readingOnly(createAwsClients({ region, endpoint: endpoints }));
  const ports = awsPortsOn(clients, { deployment });
  try {
    const [shard] = await ports.control.shards();
    await expect(ports.control.putHouseTurn({ turn: 1, isOver: true }, undefined)).rejects.toThrow(
      /PutItemCommand would write/,
    );
    const put = await ports.stream.put(shard!, [Uint8Array.of(1)]);
    expect(put).toMatchObject([{ kind: "unknown" }]);
    expect(await ports.control.houseTurn()).toBe(undefined);
  } finally {
    await ports.close();
  }
});
