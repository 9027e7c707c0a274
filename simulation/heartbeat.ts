/** What a process that runs seeds sends between two events, so that its parent sees it alive. */
export const beatMs = 1_000;
export const beat = "alive";

export function isBeat(message: unknown): boolean {
  return message === beat;
}
