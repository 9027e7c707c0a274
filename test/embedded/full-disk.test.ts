/**
 * A machine that cannot write is not taken for damaged data, and what was acknowledged stays. Where
 * a disk has to fill while something runs, it is a file system in memory, in a name space of its
 * own: Linux makes those for everybody unless it is told not to, as in some containers.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { checkLevelDatabase } from "../../localstack/level-database.ts";
import { temporaryFolder } from "./fixtures/test-stack.ts";

const module = fileURLToPath(new URL("../../localstack/level-database.ts", import.meta.url));

test("a store whose files cannot grow is refused as that, and keeps what it holds", async () => {
  const folder = join(temporaryFolder(), "dynamodb");
  expect(await checkLevelDatabase(folder)).toEqual({ kind: "usable" });
  const before = readFileSync(join(folder, "CURRENT"), "utf8");
  // No file may have a single byte more: what a full disk does, without one.
  const script = `import { checkLevelDatabase } from ${JSON.stringify(module)};
console.log(JSON.stringify(await checkLevelDatabase(${JSON.stringify(folder)})));`;
  const limited = `trap '' XFSZ; ulimit -f 0; exec "$0" "$@"`;
  const node = [process.execPath, "--import", "tsx", "--input-type=module", "-e", script];
  const said = execFileSync("sh", ["-c", limited, ...node], { encoding: "utf8" });
  expect(JSON.parse(said)).toMatchObject({ kind: "refused" });
  expect(readFileSync(join(folder, "CURRENT"), "utf8")).toBe(before);
  expect(await checkLevelDatabase(folder)).toEqual({ kind: "usable" });
  expect(readdirSync(folder)).toContain("CURRENT");
});

const onOwnDisk = 'mount -t tmpfs -o size="$0" tmpfs "$1" && shift && exec "$@"';

/** The command for a program that has a file system of so many bytes to itself, at that folder. */
function withDisk(size: string, folder: string, program: readonly string[]): readonly string[] {
  return ["unshare", "-Urm", "sh", "-c", onOwnDisk, size, folder, ...program];
}

function isPossible(): boolean {
  const [command = "", ...rest] = withDisk("1m", temporaryFolder(), ["true"]);
  return spawnSync(command, rest).status === 0;
}

function runOnDisk(size: string, fixture: string, ...parameters: readonly string[]): unknown {
  const folder = temporaryFolder();
  const file = fileURLToPath(new URL(`./fixtures/${fixture}`, import.meta.url));
  const node = [process.execPath, "--import", "tsx", file, folder, ...parameters];
  const [command = "", ...rest] = withDisk(size, folder, node);
  const options = { encoding: "utf8", timeout: 100_000, killSignal: "SIGKILL" } as const;
  const { status, stdout, stderr } = spawnSync(command, rest, options);
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
}

describe("a disk that fills while it is used", () => {
  beforeEach(({ skip }) => {
    skip(!isPossible(), "this machine makes no name spaces for ordinary users");
  });

  const before = ["before"];
  const after = ["after 1", "after 2", "after 3"];
  const refusal = {
    statusCode: 507,
    body: {
      __type: "DataFolderNotWritable",
      message: expect.stringMatching(/^refused: IO error: .*: No space left on device$/u) as string,
    },
  };

  test.each(["dynamodb", "kinesis"])(
    "makes the store of %s refuse all writes from the first that failed on, and none is lost",
    (store) => {
      expect(runOnDisk("24m", "full-disk-level.ts", store)).toEqual({
        acknowledged: before,
        lost: [],
        answered: [refusal],
        refusals: 1,
      });
      // LevelDB by itself acknowledges what it cannot read again.
      expect(runOnDisk("24m", "full-disk-level.ts", store, "unguarded")).toMatchObject({
        acknowledged: [...before, ...after],
        lost: after,
      });
    },
  );

  const slow = { timeout: 120_000 };
  test("is told to clients as that, and the stack goes on when there is room", slow, () => {
    const seen = runOnDisk("64m", "full-disk-stack.ts") as {
      readonly whileFull: {
        readonly told: readonly unknown[];
        readonly missing: unknown;
        readonly rest: { readonly settle?: string };
      };
      readonly afterwards: unknown;
      readonly settled: unknown;
      readonly restarted: unknown;
      readonly logged: string;
    };
    const why = /data folder .+ cannot be written: .*No space left on device.*: make room/u;
    // The first ones may have been on their way, and what they wait for is not refused to them.
    for (const each of seen.whileFull.told.slice(4)) {
      expect(each).toEqual({
        code: expect.stringMatching(/^(?:unavailable|commit-unknown)$/u) as string,
        outcome: expect.stringMatching(/^(?:aborted|unknown)$/u) as string,
        message: expect.stringMatching(why) as string,
      });
    }
    expect(seen.whileFull.missing).toEqual([]);
    // One whose last put is not answered when its time is up is unknown, and says so.
    const { settle, ...told } = seen.whileFull.rest;
    expect(told).toEqual(
      settle === undefined
        ? { status: 507, code: "storage-full", outcome: "aborted" }
        : { status: 202, code: "commit-unknown", outcome: "unknown" },
    );
    // Whichever it was told, that is what the table shows.
    expect([
      ["aborted", false],
      ["committed", true],
    ]).toContainEqual(seen.settled);
    if (settle === undefined) expect(seen.settled).toEqual(["aborted", false]);
    expect([seen.afterwards, seen.restarted]).toEqual([{ missing: [] }, { missing: [] }]);
    expect(seen.logged).toMatch(why);
    expect(seen.logged).not.toMatch(/corrupt/u);
    expect(seen.logged).toContain("running again");
  });
});
