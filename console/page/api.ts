/** What the page asks the server for. The token comes by the address's fragment, once. */
import type { FaultOrder, FaultState, WireError } from "../wire.ts";

const tokenName = "tidemark-console-token";

/** Takes the token out of the address, where it would be seen and copied; this tab keeps it. */
export function takeToken(): void {
  const [, token] = /[#&]token=([0-9a-f]+)/.exec(location.hash) ?? [];
  if (token === undefined) return;
  sessionStorage.setItem(tokenName, token);
  history.replaceState(null, "", "#/");
}

export function hasToken(): boolean {
  return sessionStorage.getItem(tokenName) !== null;
}

export function headers(): Record<string, string> {
  const token = sessionStorage.getItem(tokenName);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

export class AskError extends Error {
  override readonly name = "AskError";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

type Query = Readonly<Record<string, string | number | undefined>>;

/** @throws AskError with the server's own words, or that it does not answer. */
export async function ask<Answer>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
): Promise<Answer> {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value.toString()]],
  );
  const text = new URLSearchParams(given).toString();
  const url = text === "" ? path : `${path}?${text}`;
  return answered<Answer>(url, { headers: headers(), ...(signal === undefined ? {} : { signal }) });
}

export async function order(what: FaultOrder): Promise<FaultState> {
  return answered<FaultState>("/api/faults", {
    method: "POST",
    headers: { ...headers(), "content-type": "application/json" },
    body: JSON.stringify(what),
  });
}

async function answered<Answer>(url: string, how: RequestInit): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(url, how);
  } catch (error) {
    if (how.signal?.aborted === true) throw error;
    throw new AskError("unreachable", "the console's server does not answer: has it stopped?");
  }
  if (response.ok) return (await response.json()) as Answer;
  const body = (await response.json().catch(() => undefined)) as WireError | undefined;
  throw new AskError(
    body?.error.code ?? "internal",
    body?.error.message ?? `the server answered ${response.status}`,
  );
}
