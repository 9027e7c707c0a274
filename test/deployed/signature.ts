/** AWS Signature Version 4 for an HTTP API with IAM authorization, over host, time and body. */
import { createHash, createHmac } from "node:crypto";

export function signedHeaders(request: {
  readonly method: string;
  readonly url: URL;
  readonly body: string;
  readonly region: string;
}): Record<string, string> {
  const { method, url, body, region } = request;
  const accessKey = process.env["AWS_ACCESS_KEY_ID"] ?? "test";
  const secretKey = process.env["AWS_SECRET_ACCESS_KEY"] ?? "test";
  const sessionToken = process.env["AWS_SESSION_TOKEN"];
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
  const scope = `${time.slice(0, 8)}/${region}/execute-api/aws4_request`;
  const signed: Record<string, string> = {
    host: url.host,
    "x-amz-date": time,
    ...(sessionToken === undefined ? {} : { "x-amz-security-token": sessionToken }),
  };
  const names = Object.keys(signed).sort();
  const canonical = [
    method,
    // Each segment is encoded once more than in the URL itself.
    url.pathname.split("/").map(encodeURIComponent).join("/"),
    [...url.searchParams]
      .map((pair) => pair.map(encodeURIComponent).join("="))
      .sort()
      .join("&"),
    ...names.map((name) => `${name}:${signed[name] ?? ""}`),
    "",
    names.join(";"),
    createHash("sha256").update(body).digest("hex"),
  ].join("\n");
  const digest = createHash("sha256").update(canonical).digest("hex");
  let key: Buffer | string = `AWS4${secretKey}`;
  for (const part of scope.split("/")) key = createHmac("sha256", key).update(part).digest();
  const signature = createHmac("sha256", key)
    .update(["AWS4-HMAC-SHA256", time, scope, digest].join("\n"))
    .digest("hex");
  const { host: _, ...sent } = signed;
  return {
    ...sent,
    authorization:
      `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names.join(";")}, ` +
      `Signature=${signature}`,
  };
}
