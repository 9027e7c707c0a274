/** Parts that are loaded when they are first needed. */
import { expect, test } from "vitest";
import { OnDemand } from "../../core/on-demand.ts";
import { UnavailableError } from "../../core/errors.ts";

/** A part whose loading ends when the test says so. */
function slowPart() {
  const imports: { resolve: (part: string) => void; reject: (error: Error) => void }[] = [];
  const load = (): Promise<string> =>
    new Promise((resolve, reject) => imports.push({ resolve, reject }));
  return { part: new OnDemand("slow", load), imports };
}

const named = (name: string): Promise<string> => Promise.resolve(`used ${name}`);

test("a part is imported once, for all who ask before it is there", async () => {
  const { part, imports } = slowPart();
  const used = [part.use(named), part.use(named)];
  expect(imports).toHaveLength(1);
  imports[0]?.resolve("a");
  expect(await Promise.all(used)).toEqual(["used a", "used a"]);
  expect(await part.load()).toBe("a");
  expect(imports).toHaveLength(1);
});

test("what is loaded is used in the turn of the call", async () => {
  const { part, imports } = slowPart();
  const seen: string[] = [];
  const note = (name: string): Promise<void> => {
    seen.push(name);
    return Promise.resolve();
  };
  const first = part.use(note);
  expect(seen).toEqual([]);
  imports[0]?.resolve("a");
  await first;
  void part.use(note);
  expect(seen).toEqual(["a", "a"]);
});

test("a failure is typed and of those who waited: the next one tries again", async () => {
  const { part, imports } = slowPart();
  const failed = [part.use(named), part.use(named)].map((use) =>
    use.catch((error: unknown) => error),
  );
  const cause = new Error("no such file");
  imports[0]?.reject(cause);
  for (const error of await Promise.all(failed)) {
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ retryable: true, outcome: "aborted", cause });
    expect(String(error)).toContain('the part "slow"');
  }
  const again = part.use(named);
  imports[1]?.resolve("b");
  expect(await again).toBe("used b");
});

test("every part made is among all", () => {
  // It can be loaded: test clouds of this process load all that there are.
  const part = new OnDemand("there", () => Promise.resolve("a"));
  expect([...OnDemand.all()]).toContain(part);
});
