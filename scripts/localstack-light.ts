/**
 * `npm run localstack:light`: the light local cloud on this machine's loopback, until it is
 * interrupted.
 */
import { Command } from "commander";
import { LightCloudUnavailable, startLightCloud } from "../localstack/light-cloud.ts";

const { port, verbose } = new Command("localstack:light")
  .description("Starts a local cloud without containers; Ctrl-C ends it, and its data with it.")
  .option("--port <number>", "on loopback; 0 takes a free one", Number, 4566)
  .option("--verbose", "shows the cloud's and the functions' log at the end", false)
  .parse()
  .opts<{ readonly port: number; readonly verbose: boolean }>();

try {
  const cloud = await startLightCloud({
    port,
    say: (line) => {
      console.log(line);
    },
  });
  console.log(`the light cloud answers at ${cloud.endpoint}; Ctrl-C ends it`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, resolve);
  });
  await cloud.stop();
  if (verbose) console.log(cloud.log());
} catch (error) {
  if (!(error instanceof LightCloudUnavailable)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
