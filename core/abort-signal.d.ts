/**
 * The one host type that the ports mention. Core compiles without Node's or the DOM's types, so it
 * declares the little that it needs to know; elsewhere this merges with the full interface.
 */
interface AbortSignal {
  readonly aborted: boolean;
}
