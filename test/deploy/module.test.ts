/**
 * The Terraform module held against the code, wherever there is no Terraform and no provider:
 * names, keys, bounds, metrics, documentation, and the settings whose loss loses commits. `npm run
 * test:terraform` checks plans as well.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { deploymentNames } from "../../aws/names.ts";
import { systemTables } from "../../aws/provision.ts";
import { baseExpiryAttribute, baseRecordsKeys, baseRecordsTable } from "../../core/base-tables.ts";
import * as limits from "../../core/limits.ts";
import { splitPolicyBounds } from "../../core/split-policy.ts";
import { splitVariable } from "../../functions/splitter/policy.ts";
import { functionMetrics } from "../../functions/shared/metric-names.ts";
import { shardMetrics } from "../../functions/shared/shard-metrics.ts";
import { logLevels } from "../../functions/shared/observability.ts";
import { functionRoles, functionSettings, rolesOf } from "../../functions/shared/settings.ts";
import { moduleFile } from "../../localstack/module-settings.ts";
import { functionSettingsText } from "../../scripts/function-settings.ts";
import { baseRunnerMetrics } from "../../sdk/base-trouble-line.ts";
import { readGrants } from "./grants.ts";

const folder = fileURLToPath(new URL("../../infra/terraform", import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith(".tf"));
const text = files.map((name) => moduleFile(name)).join("\n");
const operations = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");

/** Blocks of the outermost level, without comments: `resource "type" "name" { … }`. */
function blocks(kind: string): readonly { readonly labels: readonly string[]; body: string }[] {
  const pattern = new RegExp(`^${kind}((?: "[^"]+")*) \\{\\n([\\s\\S]*?)^\\}`, "gm");
  const code = text.replaceAll(/^\s*#.*\n/gm, "");
  return [...code.matchAll(pattern)].map(([, labels = "", body = ""]) => ({
    labels: [...labels.matchAll(/"([^"]+)"/g)].map(([, label = ""]) => label),
    body,
  }));
}

/** The expression that an argument of a block is set to, on one line. */
function argument(type: string, name: string, label?: string): string | undefined {
  const block = blocks("resource").find(
    ({ labels }) => labels[0] === type && (label ?? labels[1]) === labels[1],
  );
  return new RegExp(`^ *${name} *= (.*)$`, "m").exec(block?.body ?? "")?.[1];
}

/** Numbers that inputs are compared with. */
function argumentsOf(body = ""): readonly string[] {
  return [...body.matchAll(/[<>]= (\d+)/g)].map(([, number = ""]) => number);
}

describe("names", () => {
  const names = deploymentNames("shop");
  const resolved = text
    .replaceAll("${local.prefix}", "tidemark-shop")
    .replace("name          = local.base_table", 'name = "tidemark-shop-base"');

  test("stream and tables are called what clients look for, and have the keys they use", () => {
    expect(resolved).toContain(`stream_name = "${names.stream}"`);
    const base = { name: baseRecordsTable(names.controlTable), ...baseRecordsKeys };
    for (const { name, partitionKey, sortKey } of [...systemTables(names), base]) {
      const key = (attribute: { name: string; type: string } | undefined): string =>
        `{ name = "${attribute?.name ?? ""}", type = "${attribute?.type ?? ""}" }`;
      expect(resolved.replaceAll(/ +/g, " ")).toContain(
        ` name = "${name}"\n partition_key = ${key(partitionKey)}\n sort_key = ${key(sortKey)}\n`,
      );
    }
  });

  test("every name that the module gives begins with the deployment's prefix", () => {
    const given = blocks("resource").flatMap(({ labels, body }) =>
      [...body.matchAll(/^ {2}(?:name|function_name|alarm_name|dashboard_name) *= (.*)$/gm)].map(
        ([, value = ""]) => `${labels.join(".")} ${value}`,
      ),
    );
    expect(given.length).toBeGreaterThan(15);
    const free = given.filter((each) => !/local\.(prefix|global_prefix|stream_name)/.test(each));
    // Inside of something that has the prefix, or the user's own name.
    const scoped = [
      /^aws_(iam_role_policy|apigatewayv2_(authorizer|stage))\./,
      /^aws_dynamodb_table\.|aws_lambda_function\.(this|feed|base_runner)/,
    ];
    expect(free.filter((each) => !scoped.some((one) => one.test(each)))).toEqual([]);
  });
});

describe("the event source mappings", () => {
  test("give up, cut and reorder nothing", () => {
    const mapping = (name: string) => argument("aws_lambda_event_source_mapping", name, "stream");
    expect(mapping("parallelization_factor")).toBe("each.value.parallelizationFactor");
    expect(mapping("bisect_batch_on_function_error")).toBe("each.value.bisect");
    expect(mapping("maximum_retry_attempts")).toBe("each.value.retriesMax");
    expect(mapping("maximum_record_age_in_seconds")).toBe("each.value.recordAgeSecondsMax");
    expect(mapping("starting_position")).toBe("each.value.startingPosition");
    expect(mapping("batch_size")).toBe("each.value.batchSize");
    expect(mapping("maximum_batching_window_in_seconds")).toBe("each.value.windowSeconds");
    for (const role of ["oracle", "replay"] as const) {
      expect(functionSettings[role].mapping).toMatchObject({
        startingPosition: "TRIM_HORIZON",
        parallelizationFactor: 1,
        bisect: false,
        retriesMax: -1,
        recordAgeSecondsMax: -1,
      });
    }
  });

  test("what a function is given is the table's word", () => {
    const lambda = (name: string) => argument("aws_lambda_function", name, "this");
    expect(lambda("memory_size")).toBe("lookup(var.memory_mb, each.key, each.value.memoryMb)");
    expect(lambda("timeout")).toBe("each.value.timeoutSeconds");
    expect(argument("aws_cloudwatch_event_rule", "schedule_expression", "schedule")).toBe(
      "each.value.rate",
    );
    const scheduled = (name: string) => argument("aws_lambda_function_event_invoke_config", name);
    expect(scheduled("maximum_retry_attempts")).toBe("each.value.retriesMax");
    expect(scheduled("maximum_event_age_in_seconds")).toBe("each.value.eventAgeSecondsMax");
  });

  test("of the user's own functions it is the user's word", () => {
    const lambda = (name: string) => argument("aws_lambda_function", name, "feed");
    expect(lambda("memory_size")).toBe("each.value.memory_mb");
    expect(lambda("timeout")).toBe("each.value.timeout_seconds");
    const runner = (name: string) => argument("aws_lambda_function", name, "base_runner");
    expect(runner("memory_size")).toBe("each.value.memory_mb");
    expect(runner("timeout")).toBe("each.value.timeout_seconds");
    const mapping = (name: string) => argument("aws_lambda_event_source_mapping", name, "feed");
    // What is sent while a feed is at rest is not handed to it: it reads the log.
    expect(mapping("starting_position")).toBe('"LATEST"');
    expect(mapping("maximum_retry_attempts")).toBe("0");
  });

  test("functions.json is the functions' table; otherwise run: npm run function-settings", () => {
    expect(moduleFile("functions.json")).toBe(functionSettingsText());
  });

  test("are what the protocol asks for: the oracle at once, whole; replay later, in part", () => {
    const { oracle, replay } = functionSettings;
    expect(oracle.mapping).toMatchObject({
      windowSeconds: 0,
      partialBatchResponse: false,
      enhancedFanOut: true,
    });
    expect(replay.mapping).toMatchObject({
      windowSeconds: 1,
      partialBatchResponse: true,
      enhancedFanOut: false,
    });
  });

  test("leave functions more time than they keep back", () => {
    const { oracle, replay, reaper, api } = functionSettings;
    expect(oracle.timeoutSeconds * 1000).toBeGreaterThan(10 * limits.oracleReserveMs);
    expect(replay.timeoutSeconds * 1000).toBeGreaterThan(10 * limits.replayReserveMs);
    expect(reaper.timeoutSeconds * 1000).toBeGreaterThan(10 * limits.reaperStopMs);
    // Longer than the service takes, shorter than the HTTP API waits.
    expect(api.timeoutSeconds * 1000).toBeGreaterThan(limits.restDeadlineMs);
    expect(api.timeoutSeconds).toBeLessThan(30);
    const [, least] = /base_runner\.timeout_seconds >= (\d+)/.exec(text) ?? [];
    expect(Number(least) * 1000).toBeGreaterThan(2 * limits.baseRunnerMarginMs);
  });
});

describe("bounds", () => {
  test("the stream's retention ends before the log's blocks do", () => {
    const [, hours] = /retention_hours <= (\d+)/.exec(text) ?? [];
    expect(Number(hours) * 3600_000).toBe(limits.streamRetentionMsMax);
    expect(limits.streamRetentionMsMax / 1000).toBeLessThan(limits.logRetentionSeconds);
  });

  test("the history's retention and the log levels are those that functions take", () => {
    const [, min, max] =
      /history_retention_minutes >= (\d+) &&\s+var\.history_retention_minutes <= (\d+)/.exec(
        text,
      ) ?? [];
    expect(Number(min) * 60_000).toBe(limits.historyRetentionMsMin);
    expect(Number(max) * 60_000).toBe(limits.historyRetentionMsMax);
    expect(text).toContain(`contains([${logLevels.map((level) => `"${level}"`).join(", ")}]`);
  });

  test("when shards are split is what the policy takes, and its defaults", () => {
    const [variable] = blocks("variable").filter(({ labels }) => labels[0] === "auto_split");
    for (const [setting, { default: usual }] of Object.entries(splitPolicyBounds)) {
      const snake = setting.replaceAll(/[A-Z]/g, (each) => `_${each.toLowerCase()}`);
      const isLong = /^(window|coolDown)/.test(setting);
      const name = isLong ? snake.replace("_seconds", "_minutes") : snake;
      const value = isLong ? usual / 60 : usual;
      const optional = new RegExp(`^ +${name} += optional\\(number, ${value.toString()}\\)$`, "m");
      expect(variable?.body, name).toMatch(optional);
      const given = new RegExp(
        `^ +${splitVariable(setting)} += var\\.auto_split\\.${name}\\b`,
        "m",
      );
      expect(text, name).toMatch(given);
    }
    expect(argumentsOf(variable?.body)).toEqual([
      ...[2, limits.shardsMax, 1, 1_000_000, 1, 86_400, 1, 60, 10_080].map(String),
    ]);
  });

  test("the deployment's name leaves room for the longest role's", () => {
    const tablesAlone = /var\.stream\.enabled \|\| length\(var\.deployment\) <= (\d+)/;
    for (const [kind, pattern] of [
      ["stream", /&& length\(var\.deployment\) <= (\d+)/],
      ["tables", tablesAlone],
    ] as const) {
      const [, lengthMax] = pattern.exec(text) ?? [];
      const longest = Math.max(...rolesOf(kind).map((role) => role.length));
      const region = "ap-southeast-1".length;
      const length = "tidemark-".length + Number(lengthMax) + 1 + region + 1 + longest;
      expect(length, kind).toBeLessThanOrEqual(64);
    }
  });
});

describe("protection", () => {
  test("streams and tables are encrypted, tables expire and cannot be destroyed by mistake", () => {
    expect(argument("aws_kinesis_stream", "encryption_type")).toBe('"KMS"');
    expect(argument("aws_dynamodb_table", "deletion_protection_enabled")).toBe(
      "var.deletion_protection",
    );
    expect(argument("aws_dynamodb_table", "attribute_name")).toBe('"expiresAt"');
    expect(baseExpiryAttribute).toBe("expiresAt");
    const tables = blocks("resource").filter(({ labels }) => labels[0] === "aws_dynamodb_table");
    for (const { body } of tables)
      expect(body).toContain("depends_on = [aws_kinesis_stream.commits]");
  });

  test("grants name actions one by one, on resources that the module knows", () => {
    const known = /granted_resources = \{([\s\S]*?)\n {2}\}/.exec(text)?.[1] ?? "";
    for (const [set, grants] of Object.entries(readGrants())) {
      expect(text, set).toContain(`"${set}"`);
      for (const { actions, on } of grants) {
        expect(known).toMatch(new RegExp(`^ +${on} += `, "m"));
        for (const action of actions) expect(action).toMatch(/^(dynamodb|kinesis):[A-Z]\w+$/);
      }
    }
  });
});

describe("the mocks of the module's tests", () => {
  const mocks = moduleFile("tests/mocks/aws.tfmock.hcl");
  const testFiles = readdirSync(`${folder}/tests`).filter((name) => name.endsWith(".tftest.hcl"));

  /** Types and computed ARNs that other resources of the module and of its examples refer to. */
  const referred = [
    ...[text, moduleFile("examples/complete/main.tf"), moduleFile("examples/localstack/main.tf")]
      .join("\n")
      .matchAll(/(?<!data\.)\b(aws_\w+)\.\w+(?:\[[^\]]*\])?\.((?:\w+_)?arn)\b/g),
  ].map(([, type = "", attribute = ""]) => `${type} ${attribute}`);

  test("give every computed ARN that another resource refers to the form of one", () => {
    const mocked = [...mocks.matchAll(/^mock_resource "(\w+)" \{\n([\s\S]*?)^\}/gm)].flatMap(
      ([, type = "", body = ""]) =>
        [...body.matchAll(/(\w*arn) += "(arn:aws:[a-z0-9-]+:[^"]+)"/g)].map(
          ([, attribute = ""]) => `${type} ${attribute}`,
        ),
    );
    const distinct = [...new Set(referred)].sort();
    expect(distinct.length).toBeGreaterThan(8);
    expect(mocked.sort()).toEqual(distinct);
  });

  test("are written once, and read by every test that gets as far as a plan", () => {
    for (const name of testFiles) {
      const tests = moduleFile(`tests/${name}`);
      const providers = [...tests.matchAll(/^mock_provider "aws" (\{\}|\{[\s\S]*?^\})/gm)];
      expect(providers.length, name).toBeGreaterThan(0);
      expect(tests, name).not.toContain("mock_resource");
      // Wrong inputs are refused before the provider is asked.
      if (name === "inputs.tftest.hcl") continue;
      for (const [, body] of providers) expect(body, name).toContain('source = "./tests/mocks"');
    }
  });
});

describe("what is watched", () => {
  const alarms = [
    ...new Set(
      [...moduleFile("alarms.tf").matchAll(/^ {4,6}([a-z]+(?:-[a-z]+)+) = \{/gm)].map(
        ([, name = ""]) => name,
      ),
    ),
    ...functionRoles
      .filter((role) => role !== "provision")
      .flatMap((role) => [`${role}-errors`, `${role}-throttled`]),
    ...["log", "control", "versions", "base"].map((table) => `${table}-table-throttled`),
    ...["rest-failed", "conflict-rate"],
  ];

  test("every alarm is explained, and no other", () => {
    const [section = ""] = /^## Alarms\n[\s\S]*?(?=^## )/m.exec(operations) ?? [];
    const rows = section.split("\n").filter((line) => line.startsWith("| `"));
    const explained = rows.flatMap((row) =>
      [...(row.split("|")[1] ?? "").matchAll(/`([a-z-]+)`/g)].map(([, name = ""]) => name),
    );
    expect(alarms.length).toBeGreaterThan(15);
    expect(explained.sort()).toEqual(alarms.sort());
  });

  test("metrics exist under the names that alarms and dashboard use", () => {
    const own = new Set([...Object.keys(functionMetrics), ...Object.values(baseRunnerMetrics)]);
    const inAlarms = [...moduleFile("alarms.tf").matchAll(/"Tidemark", metric = "(\w+)"/g)];
    const inDashboard = [...moduleFile("dashboard.tf").matchAll(/"Tidemark", "(\w+)"/g)];
    const lists = [
      ...moduleFile("dashboard.tf").matchAll(
        /for metric in \[([^\]]+)\] :\n.*"Tidemark"|for metric in \[([^\]]+)\] :\n.*concat/g,
      ),
    ];
    const used = [
      ...[...inAlarms, ...inDashboard].map(([, name = ""]) => name),
      ...lists.flatMap(([, a, b]) => (a ?? b ?? "").match(/\w+/g) ?? []),
      ...["Committed", "AbortedConflict"],
    ];
    expect(used.length).toBeGreaterThan(20);
    expect(used.filter((name) => !own.has(name))).toEqual([]);
  });

  test("what the dashboard shows of each shard is written for each shard", () => {
    const dashboard = moduleFile("dashboard.tf");
    const shown = [...dashboard.matchAll(/ metric = "(\w+)", stat/g)].map(([, name = ""]) => name);
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.filter((name) => !new Set<string>(shardMetrics).has(name))).toEqual([]);
    // No list of shards: splits make more of them.
    expect(dashboard).toContain("SEARCH('{Tidemark,deployment,service,shard} MetricName=");
    expect(dashboard).not.toContain("var.shards");
  });
});

test("every input and output says what it is", () => {
  const named = [...blocks("variable"), ...blocks("output")];
  expect(named.length).toBeGreaterThan(25);
  const described = /^ {2}description *= (?:".{15,}"$|<<-EOT\n {4}.{15,}$)/m;
  const silent = named.filter(({ body }) => !described.test(body));
  expect(silent.map(({ labels }) => labels[0])).toEqual([]);
});
