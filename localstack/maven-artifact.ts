/**
 * Programs that Maven Central has and npm has not: fetched once, with what they depend on, into a
 * git-ignored folder. Needs Maven, and only for the first time.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type MavenArtifact = {
  /** Folder below `.cache/`. */
  readonly name: string;
  /** For people: what is fetched. */
  readonly title: string;
  readonly group: string;
  readonly artifact: string;
  readonly version: string;
};

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * The folder with the artifact's jars and native libraries; fetched if it is not there yet.
 * @param say is told before something that takes long.
 * @throws Error when Maven is missing or cannot fetch it.
 */
export function fetchArtifact(artifact: MavenArtifact, say: (line: string) => void): string {
  const { name, title, version } = artifact;
  const cache = join(root, ".cache", name);
  const folder = join(cache, version);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, "fetch-"));
  try {
    writeFileSync(join(work, "pom.xml"), pomOf(artifact));
    say(`fetching ${title} ${version} with Maven`);
    const lib = join(work, "lib");
    const done = spawnSync(
      "mvn",
      ["-B", "-q", "-C", "dependency:copy-dependencies", `-DoutputDirectory=${lib}`],
      { cwd: work, stdio: ["ignore", "inherit", "inherit"] },
    );
    if (done.error !== undefined) throw new Error("Maven cannot be run", { cause: done.error });
    if (done.status !== 0) throw new Error(`Maven could not fetch ${title}`);
    // The folder appears under its final name only when it is complete.
    renameSync(lib, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

function pomOf({ name, group, artifact, version }: MavenArtifact): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidemark</groupId>
  <artifactId>${name}</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>${group}</groupId>
      <artifactId>${artifact}</artifactId>
      <version>${version}</version>
    </dependency>
  </dependencies>
</project>
`;
}
