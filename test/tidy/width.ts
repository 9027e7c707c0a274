/**
 * The rule of a hundred columns, for everything that people write and read: code, comments, prose.
 * Columns are counted as characters, not as bytes.
 */

const columnsMax = 100;

/** What people write. Data, locks, recorded output and generated pages have lines of their own. */
const written = /\.(?:ts|js|md|trace|java|tla|cfg|ya?ml|sh|xml|tf|hcl)$|^\.ci\/run$/u;

/** A line that would be within the limit without its address: an address cannot be broken. */
const address = /https?:\/\/\S+/gu;

/** Lines of over 100 columns. */
export function widthViolations(tracked: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [path, text] of tracked) {
    if (!written.test(path)) continue;
    const isExempt = path.endsWith(".md") ? markdownExemption() : (): boolean => false;
    text.split("\n").forEach((line, index) => {
      const exempt = isExempt(line);
      if (columns(line) <= columnsMax || exempt) return;
      if (columns(line.replace(address, "")) <= columnsMax) return;
      found.push(`${path}:${(index + 1).toString()}: ${columns(line).toString()} columns`);
    });
  }
  return found;
}

/** Rows of tables cannot be broken, and what stands between fences is shown as it is typed. */
function markdownExemption(): (line: string) => boolean {
  let fenced = false;
  return (line) => {
    const isFence = /^\s*(?:```|~~~)/u.test(line);
    if (isFence) fenced = !fenced;
    return fenced || isFence || /^\s*\|/u.test(line);
  };
}

const columns = (line: string): number => Array.from(line).length;
