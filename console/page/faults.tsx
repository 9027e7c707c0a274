/** Traffic and faults, in the embedded stack: to see that what is promised holds. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import * as limits from "../limits.ts";
import type { FaultOrder, FaultState, ProcessLine } from "../wire.ts";
import { AskError, hasToken, order } from "./api.ts";
import { Charts } from "./charts.tsx";
import { clockText, countText, plural } from "./format.ts";
import type { Live } from "./live.ts";
import { Empty, Fault, Mark, Panel } from "./parts.tsx";

type Give = (what: FaultOrder) => void;

export function FaultsView(props: {
  readonly live: Live;
  readonly note: (faults: FaultState) => void;
}): JSX.Element {
  const { live, note } = props;
  const [error, setError] = useState<AskError | undefined>(undefined);
  const [isBusy, setIsBusy] = useState(false);
  const { faults } = live;
  if (faults === undefined) {
    return (
      <Panel title="Faults">
        <Empty title="No faults can be made here.">
          <p>
            That takes the embedded stack: `tidemark start` serves a console by itself, which runs
            in the same process.
          </p>
        </Empty>
      </Panel>
    );
  }
  const give: Give = (what) => {
    setIsBusy(true);
    setError(undefined);
    order(what)
      .then(note, (thrown: unknown) => {
        setError(thrown instanceof AskError ? thrown : new AskError("internal", String(thrown)));
      })
      .finally(() => {
        setIsBusy(false);
      });
  };
  const isOff = isBusy || !hasToken();
  return (
    <>
      {hasToken() ? null : (
        <p class="notice warning">
          These buttons take the token of this start: open the console by the whole address that
          `tidemark start` printed.
        </p>
      )}
      {error === undefined ? null : <Fault error={error} />}
      <Guarantees faults={faults} />
      <div class="columns even">
        <Traffic faults={faults} isOff={isOff} give={give} />
        <Processes faults={faults} isOff={isOff} give={give} />
      </div>
      <Charts live={live} />
      <Deeds faults={faults} />
    </>
  );
}

function Guarantees({ faults }: { readonly faults: FaultState }): JSX.Element {
  const isTraffic = faults.traffic.clients.length > 0;
  const unseen = isTraffic ? "the first look is under way" : "start some traffic";
  return (
    <Panel title="What must hold, whatever happens" aside="checked once a second">
      {faults.guarantees.length > 0 ? null : (
        <Empty title="Nothing is looked at yet.">
          <p>
            With the first traffic, clients move money: here stands then what must be true of it all
            the time, and how often it was looked at.
          </p>
        </Empty>
      )}
      <ul class="guarantees">
        {faults.guarantees.map((each) => (
          <li key={each.name}>
            <Mark level={each.violations > 0 ? "bad" : each.checks === 0 ? "unknown" : "fine"} />
            <div>
              <b>{each.name}</b>
              <p>{each.text}</p>
              <p class="faint number">
                {each.checks === 0
                  ? `not looked at yet: ${unseen}`
                  : `${plural(each.checks, "look")}, ${plural(each.violations, "violation")}`}
                {each.last === undefined ? "" : `; ${each.last}`}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

type Part = { readonly faults: FaultState; readonly isOff: boolean; readonly give: Give };

function Traffic({ faults, isOff, give }: Part): JSX.Element {
  const { traffic } = faults;
  if (traffic.unavailable !== undefined) {
    return (
      <Panel title="Traffic">
        <Empty title="No traffic can be made here.">
          <p>{traffic.unavailable}</p>
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel title="Traffic" aside="clients in processes of their own, moving money">
      <Amount {...{ faults, isOff, give }} />
      <dl class="figures">
        <Figure name="clients" value={traffic.clients.length} />
        <Figure name="committed" value={traffic.committed} />
        <Figure name="runs" value={traffic.attempts} />
        <Figure name="conflicts" value={traffic.conflicts} />
        <Figure name="outcome unknown" value={traffic.unknown} />
        <Figure name="given up" value={traffic.failed} />
      </dl>
      <div class="controls">
        <button
          type="button"
          class="danger"
          disabled={isOff || traffic.clients.length === 0}
          onClick={() => {
            give({ act: "kill-client", how: "now" });
          }}
        >
          Kill a client
        </button>
        <button
          type="button"
          class="danger"
          disabled={isOff || traffic.clients.length === 0}
          title="It dies when the log has its commit and before it has written any of it"
          onClick={() => {
            give({ act: "kill-client", how: "at-decision" });
          }}
        >
          Kill one between commit and install
        </button>
      </div>
      <p class="note">
        A killed client is started again. What it had committed and not written, replay and readers
        write.
      </p>
    </Panel>
  );
}

const usualClients = 3;
const usualKeys = 8;

function Amount({ faults, isOff, give }: Part): JSX.Element {
  const { traffic } = faults;
  const [clients, setClients] = useState(usualClients);
  const [keys, setKeys] = useState(traffic.keys === 0 ? usualKeys : traffic.keys);
  const isRunning = traffic.clients.length > 0;
  return (
    <div class="controls">
      <label class="field">
        <span>Clients: {clients}</span>
        <input
          type="range"
          min={1}
          max={limits.trafficClientsMax}
          value={clients}
          onInput={(event) => {
            setClients(Number(event.currentTarget.value));
          }}
        />
      </label>
      <label class="field">
        <span>Accounts: {keys} (fewer: more conflicts)</span>
        <input
          type="range"
          min={limits.trafficKeysMin}
          max={limits.trafficKeysMax}
          value={keys}
          onInput={(event) => {
            setKeys(Number(event.currentTarget.value));
          }}
        />
      </label>
      <button
        type="button"
        disabled={isOff}
        onClick={() => {
          give({ act: "traffic", clients, keys });
        }}
      >
        {isRunning ? "Start anew" : "Start"}
      </button>
      <button
        type="button"
        disabled={isOff || !isRunning}
        onClick={() => {
          give({ act: "traffic", clients: 0, keys });
        }}
      >
        Stop
      </button>
    </div>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: number }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{countText(value)}</dd>
    </div>
  );
}

const does: Readonly<Record<string, string>> = {
  oracle: "certifies what comes by the stream",
  replay: "installs what clients leave, moves the watermark",
  reaper: "removes tombstones",
  housekeeping: "installs, and moves the watermark",
  api: "answers REST",
};

function Processes({ faults, isOff, give }: Part): JSX.Element {
  return (
    <Panel title="The deployment">
      <ul class="processes">
        {faults.processes.map((each) => (
          <Process key={each.name} {...{ isOff, give }} process={each} faults={faults} />
        ))}
      </ul>
      <Throttle {...{ faults, isOff, give }} />
    </Panel>
  );
}

function Process(props: Part & { readonly process: ProcessLine }): JSX.Element {
  const { process, faults, isOff, give } = props;
  const { name, state, kills } = process;
  const isFrozen = state === "frozen";
  return (
    <li>
      <div>
        <b>{name}</b> <span class={`process-state ${state}`}>{state}</span>
        {kills === 0 ? null : <span class="faint"> killed {plural(kills, "time")}</span>}
        <p class="faint">{does[name] ?? ""}</p>
      </div>
      <span class="buttons">
        {faults.canFreeze ? (
          <button
            type="button"
            disabled={isOff || state === "starting"}
            aria-label={`${isFrozen ? "let go on" : "stop"}: ${name}`}
            onClick={() => {
              give({ act: isFrozen ? "resume" : "freeze", process: name });
            }}
          >
            {isFrozen ? "Go on" : "Stop"}
          </button>
        ) : null}
        <button
          type="button"
          class="danger"
          disabled={isOff || state === "starting"}
          aria-label={`kill ${name}`}
          onClick={() => {
            give({ act: "kill", process: name });
          }}
        >
          Kill
        </button>
      </span>
    </li>
  );
}

function Throttle({ faults, isOff, give }: Part): JSX.Element {
  const [drawn, setDrawn] = useState<number | undefined>(undefined);
  const percent = drawn ?? faults.throttlePercent;
  return (
    <div class="controls throttle">
      <label class="field grow">
        <span>The stores refuse {percent} % of calls for want of throughput</span>
        <input
          type="range"
          min={0}
          max={limits.throttlePercentMax}
          step={5}
          value={percent}
          disabled={isOff}
          onInput={(event) => {
            setDrawn(Number(event.currentTarget.value));
          }}
          onChange={(event) => {
            setDrawn(undefined);
            give({ act: "throttle", percent: Number(event.currentTarget.value) });
          }}
        />
      </label>
      <button
        type="button"
        disabled={isOff || faults.throttlePercent === 0}
        onClick={() => {
          give({ act: "throttle", percent: 0 });
        }}
      >
        None
      </button>
    </div>
  );
}

function Deeds({ faults }: { readonly faults: FaultState }): JSX.Element {
  return (
    <Panel title="What was done here">
      {faults.deeds.length === 0 ? (
        <Empty title="Nothing yet.">
          <p>Start some traffic, then stop the oracle, and watch what must hold.</p>
        </Empty>
      ) : (
        <ul class="plain">
          {faults.deeds.map((each, at) => (
            <li key={at}>
              <span class="number faint">{clockText(each.atMs * 1_000).slice(0, 8)}</span>{" "}
              {each.text}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
