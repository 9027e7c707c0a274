/** The moments between two steps of a payment at which a process may be told to die. */

/**
 * Behind the step that takes; before the one that gives; behind that, or where it was refused;
 * behind the one that gives back. Behind the last step nothing is ended yet.
 */
export const killPoints = ["taken", "waited", "given", "refused", "given-back"] as const;

export type KillPoint = (typeof killPoints)[number];

/** Who runs steps: whoever begins payments, and runners, which take over what others have left. */
export const roles = ["teller", "runner"] as const;

export type Role = (typeof roles)[number];

/** A kill as it turned out: by the clock it comes wherever the process is. */
export const anyMoment = "any moment";

export type Struck = KillPoint | typeof anyMoment;

/** By `role point`; those that have never struck are there with 0. */
export type KillCounts = Readonly<Record<string, number>>;

export function killName(role: Role, struck: Struck): string {
  return `${role} ${struck}`;
}

export function noKills(): Record<string, number> {
  const moments: readonly Struck[] = [anyMoment, ...killPoints];
  return Object.fromEntries(
    roles.flatMap((role) => moments.map((struck) => [killName(role, struck), 0])),
  );
}

/** The points at which nobody was killed, a line each: about these a run proves nothing. */
export function missedPoints(kills: KillCounts): readonly string[] {
  return roles.flatMap((role) =>
    killPoints
      .filter((point) => (kills[killName(role, point)] ?? 0) === 0)
      .map((point) => `no ${role} was killed at "${point}": this run says nothing about it`),
  );
}
