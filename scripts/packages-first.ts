/**
 * The order of test files: as Vitest has it, but for those of the package, which come before the
 * others of their group. The longest of them waits for npm most of its time, so that it goes on
 * beside the others, and not after them.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

export class PackagesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isPackage = ({ project }: TestSpecification): boolean => project.name === "package";
    const sorted = await super.sort(files);
    return [...sorted.filter(isPackage), ...sorted.filter((each) => !isPackage(each))];
  }
}
