/**
 * What must happen in the model, so that what holds there is not said of nothing: each state is
 * denied by an invariant that is meant to fail.
 */
export type ReachedState = {
  /** The invariant that the state violates. */
  readonly deniedBy: string;
  /** Configuration of model/ in which it is reached. */
  readonly config: string;
  /** For people. */
  readonly shows: string;
};

export const reachedStates: readonly ReachedState[] = [
  {
    deniedBy: "NoCycle",
    config: "base-beside",
    shows: "the cycle that is allowed: one BASE transaction overwrites what another has read",
  },
  {
    deniedBy: "NoCycle",
    config: "base-readers",
    shows: "the same cycle, by one that reads around the other",
  },
  {
    deniedBy: "NoStepSeen",
    config: "base-readers",
    shows: "a step that has read what is open",
  },
  {
    deniedBy: "NoneReadsAround",
    config: "base-readers",
    shows: "an ACID transaction that has read around what is open",
  },
  {
    deniedBy: "NoneReleasedLate",
    config: "base-chains",
    shows: "a release at the end of another one",
  },
  {
    deniedBy: "NoneReleasedTogether",
    config: "base-readers",
    shows: "two that depend on each other, released together",
  },
  {
    deniedBy: "NoneIsBusy",
    config: "base-writers",
    shows: "an ACID transaction that is certified while one is open that bars it",
  },
  {
    deniedBy: "NoneWaits",
    config: "base-writers",
    shows: "one that writes has waited for a release, and read what it brought",
  },
  {
    deniedBy: "NoneWaits",
    config: "base-waiting",
    shows: "the same of one that only reads, without history",
  },
  {
    deniedBy: "NoneRollsForward",
    config: "base-steps",
    shows: "a runner has stopped at a step, and another one has gone on behind it",
  },
];
