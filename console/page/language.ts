/**
 * uPlot asks for the browser's language as soon as it is loaded, and some browsers name one that is
 * none (`en-US@posix`): then nothing of the page would run. Numbers here are written without it.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en", configurable: true });
}
