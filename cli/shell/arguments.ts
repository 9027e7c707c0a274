/** What options and arguments take, and how a wrong one is refused. */
import { InvalidArgumentError } from "commander";

/** A whole number in `[min, max]`. */
export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };
}

const units = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** A span such as `30s`, `5m`, `2h`; a bare number is seconds. In milliseconds. */
export function span(secondsMax: number): (text: string) => number {
  return (text) => {
    const [, digits = "", unit = "s"] = /^(\d{1,7})([smhd])?$/.exec(text) ?? [];
    const seconds = Number(digits) * units[unit as keyof typeof units];
    if (digits !== "" && seconds >= 1 && seconds <= secondsMax) return seconds * 1_000;
    throw new InvalidArgumentError(
      `Give a span such as 30s, 5m or 2h, of at most ${secondsMax} seconds.`,
    );
  };
}
