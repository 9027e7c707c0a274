/**
 * Tables in units of a cache line. Beyond the processor's caches what a look into a table costs is
 * the number of lines that it fetches, so hash tables keep what they look at together within one.
 */

export const lineWords = 16;

/**
 * Large buffers are mapped on pages of their own, and begin behind the allocator's header of 16
 * bytes. Which ones are large is the allocator's to choose, up to 32 MiB: a table that is worth it
 * asks for that much address space, of which only what is used becomes memory. Where a buffer
 * begins elsewhere, what should be one line lies across two: slower, and nothing else.
 */
const mappedBytes = 33 * 1024 * 1024;
const worthMappingBytes = 1024 * 1024;
const alignBytes = 48;

/** So many lines of zeros. */
export function cacheLines(lines: number): Uint32Array {
  const words = lines * lineWords;
  const bytes = alignBytes + words * Uint32Array.BYTES_PER_ELEMENT;
  const buffer = new ArrayBuffer(bytes < worthMappingBytes ? bytes : Math.max(bytes, mappedBytes));
  return new Uint32Array(buffer, alignBytes, words);
}
