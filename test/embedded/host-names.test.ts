import { request } from "node:http";
import { expect, test } from "vitest";
import { isLocalHost } from "../../localstack/host-names.ts";
import { startProtocolServer } from "../../localstack/protocol-server.ts";

test.each([
  ["localhost:8000", true],
  ["127.0.0.1", true],
  ["[::1]:3000", true],
  ["api.localhost:4000", true],
  ["host.docker.internal:8000", true],
  [undefined, true],
  ["evil.example:8000", false],
  ["localhost.evil.example", false],
  ["127.0.0.1.evil.example", false],
  ["", false],
])("host %s: %s", (host, local) => {
  expect(isLocalHost(host)).toBe(local);
});

test.each(["dynamodb", "kinesis"] as const)(
  "%s answers to this machine's names",
  async (service) => {
    const server = await startProtocolServer({ service, port: 0, folder: undefined });
    const statusFor = (host: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const { port } = server;
        const headers = { Host: host, Connection: "close" };
        const asked = request({ host: "127.0.0.1", port, method: "POST", headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        });
        asked.once("error", reject);
        asked.end("{}");
      });
    try {
      expect(await statusFor("evil.example")).toBe(421);
      expect(await statusFor(`localhost:${server.port}`)).not.toBe(421);
    } finally {
      await server.close();
    }
  },
);
