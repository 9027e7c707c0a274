/** Whether what is installed here is what the package needs. Pure. */
import type { Peer } from "./package.ts";
import type { Finding } from "../inspection/findings.ts";

const nodeMajor = 20;

/** @param node as `process.versions.node` has it. */
export function versionFindings(
  peers: readonly Peer[],
  { node, own }: { readonly node: string; readonly own: string },
): readonly Finding[] {
  const about = "versions";
  const missing = peers.filter((peer) => peer.version === undefined && !peer.isOptional);
  const wrong = peers.filter(
    (peer) => peer.version !== undefined && !fits(peer.version, peer.range),
  );
  const absent = peers.filter((peer) => peer.version === undefined && peer.isOptional);
  const present = peers.flatMap(({ name, version }) =>
    version === undefined ? [] : [`${name} ${version}`],
  );
  const names = (those: readonly Peer[]): string => those.map(({ name }) => name).join(" ");
  return [
    { level: "fine", about, text: `tidemark ${own}, Node ${node}, ${present.join(", ")}` },
    ...(Number.parseInt(node, 10) < nodeMajor
      ? [bad(`Node ${node} is too old`, `install Node ${nodeMajor} or newer`)]
      : []),
    ...(missing.length > 0
      ? [bad(`not installed: ${names(missing)}`, `npm install ${names(missing)}`)]
      : []),
    ...wrong.map(({ name, version, range }) =>
      bad(`${name} is ${version ?? ""}, and must be ${range}`, `npm install "${name}@${range}"`),
    ),
    ...(absent.length > 0
      ? [
          {
            ...({ level: "unknown", about } as const),
            text: `not installed, and only \`tidemark start\` needs it: ${names(absent)}`,
          },
        ]
      : []),
  ];
}

function bad(text: string, remedy: string): Finding {
  return { level: "bad", about: "versions", text, remedy };
}

/** Of a range as npm's caret means it: `^3.600.0`. */
export function fits(version: string, range: string): boolean {
  const numbers = (text: string): readonly number[] =>
    text.replace(/^\^/, "").split(/[.-]/).slice(0, 3).map(Number);
  const [major = 0, minor = 0, patch = 0] = numbers(version);
  const [wantedMajor = 0, wantedMinor = 0, wantedPatch = 0] = numbers(range);
  if (major !== wantedMajor) return false;
  if (minor !== wantedMinor) return minor > wantedMinor;
  return patch >= wantedPatch;
}
