/**
 * Watches the processes that append to the log themselves, each beside the others. One whose puts
 * find their position taken by another process's block, again and again, while the others' blocks
 * go on to come, is left out: whoever has waited longest goes first
 * (docs/adr/0013-express-commit.md, Fairness). Each of its own blocks begins the count anew, and so
 * does a while without a try.
 *
 * The stores tell: puts that were refused, and blocks that stand. What a process believes of its
 * place in the line does not count.
 */
import type { StoredBlock } from "../../core/ports.ts";
import type { LogBlock, MakerNumber } from "../../core/types.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";

/** Puts of one process that were lost to others, one after another. */
type Row = {
  lost: number;
  /** Blocks of other processes, since the first of them. */
  passed: number;
  beganMs: number;
  triedMs: number;
};

/** Beaten so often in a row, while others' blocks came so often, it is left out. */
export type TurnBounds = { readonly lostMax: number; readonly passedMax: number };

/** Who does not put for so long has given up, or sleeps. */
const keepsTryingMs = 500;

export class TurnJudge {
  /** Of all rows, the longest by what others put in it. */
  longest: Readonly<Row> = { lost: 0, passed: 0, beganMs: 0, triedMs: 0 };
  /** Of those beyond both bounds, which a longer row within one of them must not hide. */
  #worst: Readonly<Row> | undefined;
  readonly #nowMs: () => number;
  readonly #bounds: TurnBounds;
  readonly #rows = new Map<MakerNumber, Row>();

  constructor(parts: { readonly nowMs: () => number; readonly bounds: TurnBounds }) {
    this.#nowMs = parts.nowMs;
    this.#bounds = parts.bounds;
  }

  /** A process's put found another block where its own should stand. */
  refused(own: StoredBlock, there: StoredBlock): void {
    const maker = makerOf(own);
    const winner = makerOf(there);
    // Its own block, whose put nobody has answered; or an oracle's, of which another judge tells.
    if (maker === undefined || winner === undefined || winner === maker) return;
    const nowMs = this.#nowMs();
    const known = this.#rows.get(maker);
    const row =
      known === undefined || nowMs > known.triedMs + keepsTryingMs
        ? { lost: 0, passed: 0, beganMs: nowMs, triedMs: nowMs }
        : known;
    this.#rows.set(maker, row);
    row.lost += 1;
    row.triedMs = nowMs;
    if (share(row) > share(this.longest)) this.longest = { ...row };
    if (this.#isLeftOut(row) && share(row) > share(this.#worst)) this.#worst = { ...row };
  }

  /** A block has come to stand. */
  stands({ maker }: LogBlock): void {
    if (maker === undefined) return;
    this.#rows.delete(maker.number);
    for (const row of this.#rows.values()) row.passed += 1;
  }

  get findings(): readonly string[] {
    if (this.#worst === undefined) return [];
    const { lost, passed, beganMs, triedMs } = this.#worst;
    return [
      `fairness: a process lost ${lost.toString()} puts in a row to others that append, in ` +
        `${(triedMs - beganMs).toFixed(0)} ms, while ${passed.toString()} of their blocks came`,
    ];
  }

  #isLeftOut({ lost, passed }: Row): boolean {
    return lost > this.#bounds.lostMax && passed > this.#bounds.passedMax;
  }
}

function share(row: Row | undefined): number {
  return row === undefined ? -1 : Math.min(row.lost, row.passed);
}

function makerOf({ bytes, position }: StoredBlock): MakerNumber | undefined {
  return decodeLogBlockHeader(bytes, position).maker?.number;
}
