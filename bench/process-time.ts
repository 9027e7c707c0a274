/**
 * Processor time of other processes, where the system tells it (Linux): what a transaction costs
 * each part.
 */
import { readFileSync } from "node:fs";

/** The kernel counts in these; fixed on every Linux that Node.js runs on. */
const tickMs = 10;

/**
 * User and system time so far, in ms; undefined where it cannot be known, or when the process is
 * gone.
 */
export function processorMs(pid: number): number | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid.toString()}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The second field is the process's title in brackets, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** Processor time that the named processes spend while `run` runs, in ms. */
export async function whileMeasuring<Result>(
  processes: Readonly<Record<string, number>>,
  run: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly spentMs: Readonly<Record<string, number>> }> {
  const before = Object.entries(processes).map(([name, pid]) => {
    return { name, pid, startMs: processorMs(pid) };
  });
  const result = await run();
  const spentMs: Record<string, number> = {};
  for (const { name, pid, startMs } of before) {
    const endMs = processorMs(pid);
    if (startMs !== undefined && endMs !== undefined) spentMs[name] = endMs - startMs;
  }
  return { result, spentMs };
}
