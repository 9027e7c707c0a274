/** Something that must never be seen, seen within a step. */
export class WorkloadFinding extends Error {
  override readonly name = "WorkloadFinding";
}
