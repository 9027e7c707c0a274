/**
 * The process of the stores: DynamoDB's and Kinesis's wire protocols on loopback, in memory or on
 * disk. It also tells the supervisor whenever the stream was written, which is what enhanced
 * fan-out does on AWS: a lone transaction need not wait for a poll.
 */
import { join } from "node:path";
import type { Server } from "node:http";
import { corruptDataFolder, hasRoom, unwritable } from "./data-folder.ts";
import { checkLevelDatabase } from "./level-database.ts";
import { stopAtFailedWrite } from "./level-writes.ts";
import { listenFailure } from "./listen-failure.ts";
import { linkToSupervisor, type ProcessLink } from "./process-link.ts";
import type { StoresSettings } from "./process-messages.ts";
import { startProtocolServer, type ProtocolServer } from "./protocol-server.ts";

/** Pause between two looks whether there is room again. */
const roomLookMs = 250;
/** "Temporary failure": the supervisor starts this process again. */
const exitToBeginAnew = 75;
/** Notices of a busy stream are merged: at most one per this time. */
const noticeIntervalMs = 2;

linkToSupervisor("stores", (link) => {
  const servers: ProtocolServer[] = [];
  return {
    async onMessage(message) {
      if (message.kind === "throttle") {
        for (const server of servers) server.throttle(message.percent);
        return;
      }
      if (message.kind !== "settings" || message.settings.kind !== "stores") return;
      const { settings } = message;
      if (!(await databasesUsable(settings, link))) return;
      if (settings.dataFolder !== undefined) beginAnewAfterFailedWrite(settings.dataFolder, link);
      const ports: Record<string, number> = {};
      for (const service of settings.services) {
        const port = settings[`${service}Port`];
        try {
          const folder = settings.dataFolder;
          const server = await startProtocolServer({
            service,
            port,
            folder: folder === undefined ? undefined : join(folder, service),
          });
          servers.push(server);
          ports[service] = server.port;
          if (service === "kinesis") announceWrites(server.server, link);
        } catch (error) {
          const failure = listenFailure(error, { port, option: `--${service}-port` });
          link.fail(failure.reason, failure.message);
          return;
        }
      }
      link.send({ kind: "ready", ports });
    },
    async onStop() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
});

async function databasesUsable(settings: StoresSettings, link: ProcessLink): Promise<boolean> {
  const { dataFolder } = settings;
  if (dataFolder === undefined) return true;
  for (const store of ["dynamodb", "kinesis"]) {
    const state = await checkLevelDatabase(join(dataFolder, store));
    if (state.kind === "locked") {
      link.fail(
        "data-folder",
        `the data folder ${dataFolder} is in use by another stack; ` +
          "stop that one, or name another folder with --data <folder>",
      );
      return false;
    }
    if (state.kind === "refused") {
      link.fail("data-folder", unwritable(dataFolder, state.message, "start again"));
      return false;
    }
    if (state.kind === "unreadable") {
      link.fail("data-folder", corruptDataFolder(dataFolder, `${store}: ${state.message}`).message);
      return false;
    }
  }
  return true;
}

/**
 * What was acknowledged is on disk, and shows again when the databases are opened anew. That takes
 * room, so it waits for some; until then, reads are answered and writes are refused.
 */
function beginAnewAfterFailedWrite(folder: string, link: ProcessLink): void {
  // A limit on the size of files then fails the write, as a full disk does, and nothing else.
  process.on("SIGXFSZ", () => undefined);
  stopAtFailedWrite((failure) => {
    link.send({ kind: "cannot-write", because: failure.message });
    setInterval(() => {
      if (hasRoom(folder)) process.exit(exitToBeginAnew);
    }, roomLookMs);
    return unwritable(folder, failure.message, "this goes on by itself");
  });
}

function announceWrites(server: Server, link: ProcessLink): void {
  let timer: NodeJS.Timeout | undefined;
  let again = false;
  const announce = (): void => {
    if (timer !== undefined) {
      again = true;
      return;
    }
    link.send({ kind: "stream-written" });
    timer = setTimeout(() => {
      timer = undefined;
      if (!again) return;
      again = false;
      announce();
    }, noticeIntervalMs);
  };
  server.on("request", (request, response) => {
    if (!/\.PutRecords?$/.test(String(request.headers["x-amz-target"]))) return;
    response.once("finish", announce);
  });
}
