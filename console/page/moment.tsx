/** A moment of the past: chosen by a slider, by a step, or written down. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { momentFrom, momentText, spanText } from "./format.ts";

export type At = number | "now";

const settleMs = 200;

export function Moment(props: {
  readonly label: string;
  readonly at: At;
  /** The oldest one that can be chosen, and now; microseconds. */
  readonly since: number;
  readonly now: number;
  readonly choose: (at: At) => void;
}): JSX.Element {
  const { label, at, since, now, choose } = props;
  const [drawn, setDrawn] = useState<At | undefined>(undefined);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => {
    setDrawn(undefined);
  }, [at]);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    [],
  );
  const shown = drawn ?? at;
  const sinceMs = Math.ceil(since / 1_000);
  const nowMs = Math.floor(now / 1_000);
  const valueMs = shown === "now" ? nowMs : Math.floor(shown / 1_000);
  /** On its way the slider asks for nothing: it does where it stays. */
  const slide = (ms: number): void => {
    const next: At = ms >= nowMs ? "now" : ms * 1_000;
    setDrawn(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      choose(next);
    }, settleMs);
  };
  /** Said outright: what the slider was about to say does not count any more. */
  const chooseNow = (chosen: At): void => {
    clearTimeout(timer.current);
    setDrawn(undefined);
    choose(chosen);
  };
  const agoText = shown === "now" ? "now" : `${spanText(nowMs - valueMs)} ago`;
  return (
    <fieldset class="moment">
      <legend>{label}</legend>
      <input
        type="range"
        class="slider"
        aria-label={`${label}, from the oldest that is kept to now`}
        aria-valuetext={shown === "now" ? "now" : `${momentText(shown)}, ${agoText}`}
        min={sinceMs}
        max={nowMs}
        step={100}
        value={valueMs}
        onInput={(event) => {
          slide(Number(event.currentTarget.value));
        }}
      />
      <div class="moment-row">
        <Written at={shown} choose={chooseNow} label={label} />
        <span class="faint number moment-ago">{agoText}</span>
        <Steps
          isNow={at === "now"}
          step={(ms) => {
            slide(Math.min(nowMs, Math.max(sinceMs, valueMs + ms)));
          }}
          toNow={() => {
            chooseNow("now");
          }}
        />
      </div>
    </fieldset>
  );
}

function Steps(props: {
  readonly isNow: boolean;
  readonly step: (ms: number) => void;
  readonly toNow: () => void;
}): JSX.Element {
  return (
    <span class="buttons">
      {[-60_000, -1_000, 1_000, 60_000].map((ms) => (
        <button
          key={ms}
          type="button"
          aria-label={`${Math.abs(ms) / 1_000} seconds ${ms < 0 ? "earlier" : "later"}`}
          onClick={() => {
            props.step(ms);
          }}
        >
          {ms < 0 ? "−" : "+"}
          {Math.abs(ms) >= 60_000 ? "1 min" : "1 s"}
        </button>
      ))}
      <button type="button" aria-pressed={props.isNow} onClick={props.toNow}>
        Now
      </button>
    </span>
  );
}

function Written(props: {
  readonly at: At;
  readonly label: string;
  readonly choose: (at: At) => void;
}): JSX.Element {
  const { at, label, choose } = props;
  const text = at === "now" ? "now" : momentText(at);
  const [isWrong, setIsWrong] = useState(false);
  return (
    <input
      key={text}
      class="number moment-text"
      aria-label={`${label}, as text in UTC`}
      aria-invalid={isWrong}
      title="now, or a moment in UTC such as 2026-11-28 00:12:03.5"
      defaultValue={text}
      onChange={(event) => {
        const written = event.currentTarget.value.trim();
        const moment = written.toLowerCase() === "now" ? "now" : momentFrom(written);
        setIsWrong(moment === undefined);
        if (moment !== undefined) choose(moment);
      }}
    />
  );
}
