/** What the demo's command line refuses, before anything is started. */
import { Command, CommanderError } from "commander";
import { expect, test } from "vitest";
import { demoOptions, withDemoOptions } from "../../demo/options.ts";

/** What it says on standard error, or that it takes them. */
function saidOf(parameters: readonly string[]): string {
  let errors = "";
  const writeErr = (text: string): void => void (errors += text);
  const command = withDemoOptions(new Command("demo"), "demo")
    .exitOverride()
    .configureOutput({ writeErr });
  try {
    demoOptions(command.parse([...parameters], { from: "user" }));
  } catch (error) {
    expect(error).toBeInstanceOf(CommanderError);
    return errors;
  }
  return "taken";
}

test.each([
  [["--clients", "0"], /--clients.*whole number from 1 to 64/],
  [["--seconds", "x"], /--seconds.*number from 1 to 3600/],
  [["--accounts", "1"], /--accounts.*whole number from 2 to 5000/],
  [["--endpoint", "here"], /--endpoint.*A URL/],
  [["--endpoint", "http://127.0.0.1:1", "--data", "x"], /--data belongs to a stack/],
  [["--endpoint", "http://127.0.0.1:1", "--shards", "2"], /--shards belongs to a stack/],
  [["--seconds", "1"], /^taken$/],
])("%s", (parameters, said) => {
  expect(saidOf(parameters)).toMatch(said);
});
