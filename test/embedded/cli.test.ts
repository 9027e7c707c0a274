/**
 * `npm start` as a user meets it: what it prints, what it says when it cannot start, how it ends.
 */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually, isAlive, temporaryFolder } from "./fixtures/test-stack.ts";

const script = fileURLToPath(new URL("../../localstack/cli.ts", import.meta.url));
const freePorts = ["--api-port", "0", "--dynamodb-port", "0", "--kinesis-port", "0"];

type Cli = {
  readonly output: () => string;
  readonly errors: () => string;
  readonly signal: (name: NodeJS.Signals) => void;
  readonly ended: Promise<number | null>;
};

function run(...parameters: readonly string[]): Cli {
  const child = spawn(process.execPath, ["--import", "tsx", script, ...parameters], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  return {
    output: () => output,
    errors: () => errors,
    signal: (name) => child.kill(name),
    ended: new Promise((resolve) => child.once("close", resolve)),
  };
}

type Announcement = {
  readonly endpoint: string;
  readonly endpoints: { readonly dynamodb: string; readonly kinesis: string };
  readonly tables: readonly string[];
  readonly processes: Readonly<Record<string, number>>;
};

async function started(cli: Cli): Promise<Announcement> {
  await eventually(() => cli.output().includes("\n"));
  return JSON.parse(cli.output()) as Announcement;
}

test("--help names every option", async () => {
  const cli = run("--help");
  expect(await cli.ended).toBe(0);
  for (const option of ["--api-port", "--dynamodb-port", "--kinesis-port", "--data", "--log-level"])
    expect(cli.output()).toContain(option);
});

describe("what cannot start ends with one clear line and an exit code", () => {
  const complaint = async (...parameters: readonly string[]): Promise<string> => {
    const cli = run(...parameters);
    expect(await cli.ended).toBe(1);
    expect(cli.errors()).not.toMatch(/^\s+at /m);
    expect(cli.output()).toBe("");
    return cli.errors();
  };

  test.each([
    [["--api-port", "x"], /--api-port.*whole number from 0 to 65535/],
    [["--kinesis-port", "65536"], /--kinesis-port.*whole number from 0 to 65535/],
    [["--log-level", "loud"], /--log-level.*debug, info, warn, error, silent/],
    [["--deployment", "a b"], /--deployment.*letters, digits/],
    [["--prot", "1"], /unknown option '--prot'/],
    [["now"], /too many arguments/],
  ])("%s", async (parameters, expected) => {
    expect(await complaint(...parameters)).toMatch(expected);
  });

  test("a data folder that is none of ours", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "other"), "");
    const errors = await complaint(...freePorts, "--data", folder);
    expect(errors).toMatch(/^tidemark: the data folder .* holds other files.*--data <folder>\n$/);
  });

  test("a busy port", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
    });
    const port = (server.address() as AddressInfo).port.toString();
    const errors = await complaint(...freePorts, "--kinesis-port", port);
    expect(errors).toBe(
      `tidemark: port ${port} is in use by another program; ` +
        "choose another with --kinesis-port <port>, or --kinesis-port 0 for any free one\n",
    );
  });
});

describe("a started stack", () => {
  test("announces itself as JSON, commits over REST, and stops on one Ctrl-C", async () => {
    const cli = run(...freePorts, "--json", "--log-level", "silent");
    const { endpoint, endpoints, processes, tables } = await started(cli);
    expect(Object.keys(processes).sort()).toEqual(["api", "oracle", "reaper", "replay", "stores"]);
    expect(tables).toContain("accounts");
    const description = await fetch(`${endpoint}/.well-known/tidemark`);
    expect(await description.json()).toEqual({
      deployment: "local",
      region: "us-east-1",
      endpoints,
    });
    const body = {
      writes: [
        {
          op: "update",
          table: "accounts",
          key: { id: "account-000" },
          add: { balanceCents: -500 },
        },
      ],
      returnItems: true,
    };
    const response = await fetch(`${endpoint}/v1/transactions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(await response.json()).toMatchObject({
      written: [{ id: "account-000", balanceCents: 99_500 }],
    });
    // As under npm: the terminal and npm both pass the one key on.
    cli.signal("SIGINT");
    cli.signal("SIGINT");
    expect(await cli.ended).toBe(0);
    expect(cli.errors()).toBe("");
    expect(Object.values(processes).filter(isAlive)).toEqual([]);
  });

  test("tells a person where everything is", async () => {
    const cli = run(...freePorts, "--no-sample-tables");
    await eventually(() => cli.output().includes("Ctrl-C stops it."));
    expect(cli.output()).toMatch(/REST API +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(cli.output()).toMatch(/DynamoDB +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(cli.output()).toMatch(/Kinesis +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(cli.output()).toMatch(/createClient\(\{ endpoint: "http/);
    cli.signal("SIGTERM");
    expect(await cli.ended).toBe(0);
  });

  test("suggests calls that work on the sample rows", async () => {
    const cli = run(...freePorts);
    await eventually(() => cli.output().includes("Ctrl-C stops it."));
    expect(cli.output()).toContain("filled with sample rows");
    const suggested = cli.output().matchAll(/curl -s (http\S+) .* -d '(\{[^']*\})'/g);
    const answers = await Promise.all(
      Array.from(suggested, async ([, url = "", body = ""]) => {
        const headers = { "content-type": "application/json" };
        const response = await fetch(url, { method: "POST", headers, body });
        return [response.status, await response.json()];
      }),
    );
    const taken = { orderId: "matinee-dora" };
    const seats = Array.from({ length: 12 }, (_unused, index) => (index < 2 ? taken : {}));
    expect(answers).toMatchObject([
      [200, { written: [{ balanceCents: 99_500 }, { balanceCents: 100_500 }] }],
      [200, { reads: { queries: [{ items: seats }] } }],
    ]);
    cli.signal("SIGINT");
    expect(await cli.ended).toBe(0);
  });

  test("a second Ctrl-C does not wait for a function that hangs", async () => {
    const cli = run(...freePorts, "--no-sample-tables", "--json");
    const { processes } = await started(cli);
    process.kill(processes["oracle"] ?? 0, "SIGSTOP");
    cli.signal("SIGINT");
    await eventually(() => !isAlive(processes["api"] ?? 0));
    await new Promise((resolve) => setTimeout(resolve, 400)); // Longer than an echo of the first.
    expect(isAlive(processes["oracle"] ?? 0)).toBe(true);
    cli.signal("SIGINT");
    expect(await cli.ended).toBe(130);
    expect(Object.values(processes).filter(isAlive)).toEqual([]);
  });
});
